//! Expressions that put values together: displays of lists, tuples and sets, slices, conditionals, lambdas.

use std::rc::Rc;

use ruff_python_ast::{Expr, ExprIf, ExprLambda, ExprSlice};
use ruff_text_size::Ranged;

use super::function::Body;
use super::interp::{Interp, Run};
use super::value::Value;

impl Interp<'_> {
    /// `[a, *b]`, `(a, b)`, `{a, b}`.
    pub(super) fn eval_display(&mut self, expression: &Expr) -> Run<Value> {
        let items = match expression {
            Expr::List(node) => self.eval_items(&node.elts)?,
            Expr::Tuple(node) => self.eval_items(&node.elts)?,
            Expr::Set(node) => self.eval_items(&node.elts)?,
            _ => return Err(self.fatal(expression.range(), "this kind of expression is not evaluated")),
        };
        Ok(match (expression, items) {
            (_, Err(why)) => Value::Unknown(why),
            (Expr::List(_), Ok(items)) => self.new_list(items),
            (Expr::Tuple(_), Ok(items)) => Value::tuple(items),
            (_, Ok(items)) => self.new_set(&items, expression.range())?,
        })
    }

    /// What stands between the brackets of `x[a:b:c]`.
    pub(super) fn eval_slice(&mut self, node: &ExprSlice) -> Run<Value> {
        let mut parts = [Value::None, Value::None, Value::None];
        for (part, bound) in parts.iter_mut().zip([&node.lower, &node.upper, &node.step]) {
            if let Some(bound) = bound {
                *part = self.eval(bound)?;
            }
        }
        Ok(Value::Slice(Rc::new(parts)))
    }

    /// `a if b else c`.
    pub(super) fn eval_conditional(&mut self, node: &ExprIf) -> Run<Value> {
        let test = self.eval(&node.test)?;
        self.either(&test, node.test.range(), |this| this.eval(&node.body), |this| this.eval(&node.orelse))
    }

    pub(super) fn eval_lambda(&mut self, node: &ExprLambda) -> Run<Value> {
        let empty = ruff_python_ast::Parameters::default();
        let parameters = node.parameters.as_deref().unwrap_or(&empty);
        self.spend(node.range.len().to_usize() / 16, node.range())?;
        let body = Body::Expression((*node.body).clone());
        self.function("<lambda>", parameters, body, false)
    }
}
