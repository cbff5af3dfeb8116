//! Expressions, and what they are assigned to.

use ruff_python_ast::{
    BoolOp, Comprehension, Expr, ExprCall, ExprFString, FStringPart, InterpolatedStringElement, Number,
    Operator, UnaryOp,
};
use ruff_text_size::{Ranged as _, TextRange};

use super::function::Args;
use super::heap::{Dict, Entry, Object, Scope};
use super::interp::{Interp, Run, Stop};
use super::value::{Key, Str, Value, Why};

impl Interp<'_> {
    pub(super) fn eval(&mut self, expression: &Expr) -> Run<Value> {
        self.enter(expression.range())?;
        let value = self.eval_node(expression);
        self.leave();
        value
    }

    fn eval_node(&mut self, expression: &Expr) -> Run<Value> {
        let range = expression.range();
        Ok(match expression {
            Expr::Name(node) => return self.load(node.id.as_str(), range),
            Expr::StringLiteral(_)
            | Expr::BytesLiteral(_)
            | Expr::NumberLiteral(_)
            | Expr::BooleanLiteral(_)
            | Expr::NoneLiteral(_)
            | Expr::EllipsisLiteral(_) => return self.eval_literal(expression),
            Expr::List(_) | Expr::Tuple(_) | Expr::Set(_) => return self.eval_display(expression),
            Expr::Dict(_) | Expr::DictComp(_) | Expr::ListComp(_) | Expr::SetComp(_) | Expr::Generator(_) => {
                return self.eval_collection(expression);
            }
            Expr::Attribute(node) => {
                let value = self.eval(&node.value)?;
                return self.attribute(&value, node.attr.as_str(), range);
            }
            Expr::Subscript(node) => {
                let value = self.eval(&node.value)?;
                let key = self.eval(&node.slice)?;
                return self.subscript(&value, &key, range);
            }
            Expr::Slice(node) => return self.eval_slice(node),
            Expr::Call(node) => return self.eval_call(node),
            Expr::BinOp(node) => {
                let left = self.eval(&node.left)?;
                let right = self.eval(&node.right)?;
                return self.binary(&left, node.op, &right, range);
            }
            Expr::UnaryOp(node) => return self.eval_unary(node.op, &node.operand, range),
            Expr::BoolOp(node) => return self.eval_bool(node.op, &node.values),
            Expr::Compare(node) => return self.eval_compare(node),
            Expr::If(node) => return self.eval_conditional(node),
            Expr::Lambda(node) => return self.eval_lambda(node),
            Expr::FString(node) => return self.eval_fstring(node),
            Expr::Named(node) => {
                let value = self.eval(&node.value)?;
                self.assign(&node.target, value.clone())?;
                value
            }
            Expr::Starred(node) => {
                let value = self.eval(&node.value)?;
                self.as_unknown(&value, range, "a star is not evaluated here")
            }
            Expr::Yield(_) | Expr::YieldFrom(_) => return self.eval_yield(expression),
            Expr::Await(_) | Expr::TString(_) | Expr::IpyEscapeCommand(_) => {
                return Err(self.fatal(range, "this kind of expression is not evaluated"));
            }
        })
    }

    fn eval_literal(&mut self, expression: &Expr) -> Run<Value> {
        let range = expression.range();
        Ok(match expression {
            Expr::StringLiteral(node) => {
                let advances = match node.value.as_slice() {
                    [literal] => self.source.literal_advances(literal),
                    _ => false,
                };
                self.spend_text(node.value.len(), range)?;
                Value::Str(self.literal(node.value.to_str(), range, advances))
            }
            Expr::BytesLiteral(node) => {
                let bytes: Vec<u8> = node.value.bytes().collect();
                Value::Bytes(self.literal(&String::from_utf8_lossy(&bytes), range, false))
            }
            Expr::NumberLiteral(node) => match &node.value {
                Number::Int(int) => match int.as_i64() {
                    Some(number) => Value::Int(number),
                    None => self.unknown(range, "the number is too large"),
                },
                Number::Float(number) => Value::Float(*number),
                Number::Complex { .. } => self.unknown(range, "complex numbers are not evaluated"),
            },
            Expr::BooleanLiteral(node) => Value::Bool(node.value),
            Expr::NoneLiteral(_) => Value::None,
            Expr::EllipsisLiteral(_) => Value::builtin("Ellipsis"),
            _ => Value::None,
        })
    }

    /// The items of a display, stars spread; why they are not known, if not.
    pub(super) fn eval_items(&mut self, elements: &[Expr]) -> Run<Result<Vec<Value>, Why>> {
        let mut items = Vec::new();
        let mut unknown = None;
        for element in elements {
            match element {
                Expr::Starred(star) => {
                    let value = self.eval(&star.value)?;
                    match self.iterate(&value, star.range)? {
                        Ok(more) => items.extend(more),
                        Err(why) => unknown = Some(why),
                    }
                }
                element => items.push(self.eval(element)?),
            }
        }
        if let Some(why) = unknown {
            self.lose_all(&items);
            return Ok(Err(why));
        }
        Ok(Ok(items))
    }

    fn eval_collection(&mut self, expression: &Expr) -> Run<Value> {
        match expression {
            Expr::Dict(node) => {
                let mut dict = Dict::default();
                for item in &node.items {
                    let Some(key) = &item.key else {
                        let value = self.eval(&item.value)?;
                        self.update(&mut dict, &value, item.value.range())?;
                        continue;
                    };
                    let key = self.eval(key)?;
                    let value = self.eval(&item.value)?;
                    self.insert(&mut dict, key, value, node.range);
                }
                Ok(Value::Ref(self.alloc(Object::Dict(dict))))
            }
            Expr::ListComp(node) => {
                let items = self.comprehend(&node.generators, node.range, |this| this.eval(&node.elt))?;
                Ok(items.map_or_else(Value::Unknown, |items| self.new_list(items)))
            }
            Expr::Generator(node) => {
                let items = self.comprehend(&node.generators, node.range, |this| this.eval(&node.elt))?;
                Ok(items.map_or_else(Value::Unknown, |items| self.new_iterator(items)))
            }
            Expr::SetComp(node) => {
                match self.comprehend(&node.generators, node.range, |this| this.eval(&node.elt))? {
                    Ok(items) => self.new_set(&items, node.range),
                    Err(why) => Ok(Value::Unknown(why)),
                }
            }
            Expr::DictComp(node) => {
                let pairs = self.comprehend(&node.generators, node.range, |this| {
                    let key = match &node.key {
                        Some(key) => this.eval(key)?,
                        None => Value::None,
                    };
                    let value = this.eval(&node.value)?;
                    Ok(Value::tuple(vec![key, value]))
                })?;
                let mut dict = Dict::default();
                match pairs {
                    Ok(pairs) => {
                        for pair in pairs {
                            if let Value::Tuple(pair) = &pair
                                && let [key, value] = &pair[..]
                            {
                                self.insert(&mut dict, key.clone(), value.clone(), node.range);
                            }
                        }
                        Ok(Value::Ref(self.alloc(Object::Dict(dict))))
                    }
                    Err(why) => Ok(Value::Unknown(why)),
                }
            }
            _ => Ok(Value::None),
        }
    }

    /// The items of a comprehension, in a scope of its own.
    fn comprehend(
        &mut self,
        generators: &[Comprehension],
        range: TextRange,
        mut element: impl FnMut(&mut Self) -> Run<Value>,
    ) -> Run<Result<Vec<Value>, Why>> {
        let scope = self.alloc(Object::Scope(Scope { parent: Some(self.scope), ..Scope::default() }));
        let outer = std::mem::replace(&mut self.scope, scope);
        let mut items = Vec::new();
        let result = self.comprehend_in(generators, range, &mut items, &mut element);
        self.scope = outer;
        Ok(match result? {
            None => Ok(items),
            Some(why) => {
                self.lose_all(&items);
                Err(why)
            }
        })
    }

    fn comprehend_in(
        &mut self,
        generators: &[Comprehension],
        range: TextRange,
        items: &mut Vec<Value>,
        element: &mut dyn FnMut(&mut Self) -> Run<Value>,
    ) -> Run<Option<Why>> {
        let Some((generator, rest)) = generators.split_first() else {
            self.spend_items(items.len() / 64, range)?;
            items.push(element(self)?);
            return Ok(None);
        };
        let iterable = self.eval(&generator.iter)?;
        let (values, mut unknown) = match self.iterate(&iterable, generator.iter.range())? {
            Ok(values) => (values, None),
            Err(why) => (vec![Value::Unknown(why.clone())], Some(why)),
        };
        if let (Some(why), Some(value)) = (unknown.clone(), values.first().cloned()) {
            self.doubt = Some(why.clone());
            self.may_raise(&why, range)?;
            self.until_stable(range, |this| {
                this.comprehend_item(generator, value.clone(), rest, &mut Vec::new(), element).map(|_| ())
            })?;
            return Ok(Some(why));
        }
        for value in values {
            self.spend(1, range)?;
            let why = self.comprehend_item(generator, value, rest, items, element)?;
            unknown = unknown.or(why);
        }
        Ok(unknown)
    }

    fn comprehend_item(
        &mut self,
        generator: &Comprehension,
        value: Value,
        rest: &[Comprehension],
        items: &mut Vec<Value>,
        element: &mut dyn FnMut(&mut Self) -> Run<Value>,
    ) -> Run<Option<Why>> {
        self.assign(&generator.target, value)?;
        for condition in &generator.ifs {
            let test = self.eval(condition)?;
            match self.truth(&test, condition.range())? {
                Some(true) => {}
                Some(false) => return Ok(None),
                None => {
                    let why = self.doubt_of(&test, condition.range());
                    let before = self.fork(condition.range())?;
                    self.doubt = Some(why.clone());
                    let mut maybe = Vec::new();
                    let alive = self.attempt(|this| {
                        this.comprehend_in(rest, condition.range(), &mut maybe, element).map(|_| true)
                    })?;
                    self.lose_all(&maybe);
                    if alive {
                        self.join(&before, &why, condition.range())?;
                    } else {
                        self.heap = before;
                    }
                    return Ok(Some(why));
                }
            }
        }
        self.comprehend_in(rest, generator.range, items, element)
    }

    /// One value or the other; both, joined, where the condition is not known.
    pub(super) fn either(
        &mut self,
        test: &Value,
        range: TextRange,
        then: impl FnOnce(&mut Self) -> Run<Value>,
        otherwise: impl FnOnce(&mut Self) -> Run<Value>,
    ) -> Run<Value> {
        match self.truth(test, range)? {
            Some(true) => return then(self),
            Some(false) => return otherwise(self),
            None => {}
        }
        let (mut first, mut second) = (None, None);
        let alive = self.branch(
            test,
            range,
            |this| then(this).map(|value| first = Some(value)).map(|()| true),
            |this| otherwise(this).map(|value| second = Some(value)).map(|()| true),
        )?;
        match (alive, first, second) {
            (true, Some(first), Some(second)) => {
                let why = self.doubt(range);
                Ok(self.join_value(first, &second, &why))
            }
            (true, Some(value), None) | (true, None, Some(value)) => Ok(value),
            _ => Err(Stop::Dead),
        }
    }

    fn eval_bool(&mut self, op: BoolOp, values: &[Expr]) -> Run<Value> {
        let Some((first, rest)) = values.split_first() else { return Ok(Value::None) };
        let value = self.eval(first)?;
        if rest.is_empty() {
            return Ok(value);
        }
        self.enter(first.range())?;
        let kept = value.clone();
        let result = match op {
            BoolOp::And => self.either(&value, first.range(), |this| this.eval_bool(op, rest), |_| Ok(kept)),
            BoolOp::Or => self.either(&value, first.range(), |_| Ok(kept), |this| this.eval_bool(op, rest)),
        };
        self.leave();
        result
    }

    fn eval_unary(&mut self, op: UnaryOp, operand: &Expr, range: TextRange) -> Run<Value> {
        let value = self.eval(operand)?;
        Ok(match (op, &value) {
            (UnaryOp::Not, _) => match self.truth(&value, range)? {
                Some(flag) => Value::Bool(!flag),
                None => Value::Unknown(self.doubt_of(&value, range)),
            },
            (UnaryOp::USub, Value::Int(number)) => match number.checked_neg() {
                Some(number) => Value::Int(number),
                None => self.unknown(range, "the number is too large"),
            },
            (UnaryOp::USub, Value::Float(number)) => Value::Float(-number),
            (UnaryOp::UAdd, Value::Int(_) | Value::Float(_)) => value,
            (UnaryOp::Invert, Value::Int(number)) => Value::Int(!number),
            _ => self.as_unknown(&value, range, "this operation is not evaluated"),
        })
    }

    fn eval_fstring(&mut self, node: &ExprFString) -> Run<Value> {
        let mut text = Str { text: "".into(), origin: Some(self.place(node.range)), advances: false };
        for part in &node.value {
            let elements = match part {
                FStringPart::Literal(literal) => {
                    text = text.with([&*text.text, &*literal.value].concat());
                    continue;
                }
                FStringPart::FString(fstring) => &fstring.elements,
            };
            for element in elements {
                match element {
                    InterpolatedStringElement::Literal(literal) => {
                        text = text.with([&*text.text, &*literal.value].concat());
                    }
                    InterpolatedStringElement::Interpolation(field) => {
                        let value = self.eval(&field.expression)?;
                        let is_plain = field.format_spec.is_none() && field.debug_text.is_none();
                        let shown = match field.conversion {
                            _ if !is_plain => None,
                            ruff_python_ast::ConversionFlag::Ascii => None,
                            ruff_python_ast::ConversionFlag::Repr => self.repr(&value, 0),
                            _ => self.text_of(&value),
                        };
                        let Some(shown) = shown else {
                            return Ok(self.as_unknown(&value, node.range, "this format is not evaluated"));
                        };
                        text = text.with([&*text.text, &*shown].concat());
                    }
                }
                self.spend_text(text.text.len(), node.range)?;
            }
        }
        Ok(Value::Str(text))
    }

    fn eval_yield(&mut self, expression: &Expr) -> Run<Value> {
        let range = expression.range();
        let items = match expression {
            Expr::Yield(node) => match &node.value {
                Some(value) => vec![self.eval(value)?],
                None => vec![Value::None],
            },
            Expr::YieldFrom(node) => {
                let value = self.eval(&node.value)?;
                match self.iterate(&value, range)? {
                    Ok(items) => items,
                    Err(why) => vec![Value::Unknown(why)],
                }
            }
            _ => Vec::new(),
        };
        if let Ok(list @ Value::Ref(_)) = self.load(YIELDED, range) {
            for item in items {
                self.append(&list, item, range)?;
            }
            return Ok(self.unknown(range, "what is sent to generators is not evaluated"));
        }
        Err(self.fatal(range, "`yield` is not evaluated here"))
    }

    fn eval_call(&mut self, node: &ExprCall) -> Run<Value> {
        let range = node.range();
        // The receiver of a method is kept apart, so that no value has to be made for `text.split`.
        let callee = self.eval(&node.func)?;
        let mut args = Args::default();
        for argument in &node.arguments.args {
            if let Expr::Starred(star) = argument {
                let value = self.eval(&star.value)?;
                match self.iterate(&value, star.range)? {
                    Ok(items) => args.positional.extend(items),
                    Err(why) => {
                        self.lose(&value);
                        args.open = Some(why);
                    }
                }
            } else {
                args.positional.push(self.eval(argument)?);
            }
        }
        for keyword in &node.arguments.keywords {
            let value = self.eval(&keyword.value)?;
            match &keyword.arg {
                Some(name) => args.keywords.push((name.as_str().into(), value)),
                None => self.spread(&mut args, &value, range)?,
            }
        }
        self.call(&callee, args, range)
    }

    /// `**value` in a call.
    fn spread(&mut self, args: &mut Args, value: &Value, range: TextRange) -> Run<()> {
        let Some(Object::Dict(dict)) = self.object(value).cloned() else {
            self.lose(value);
            let Value::Unknown(why) = self.as_unknown(value, range, "these arguments are not known") else {
                return Ok(());
            };
            args.open = Some(why);
            return Ok(());
        };
        if dict.open.is_some() {
            args.open.clone_from(&dict.open);
        }
        for (key, entry) in dict.entries {
            let Key::Str(name) = key else { continue };
            let value = match entry.maybe {
                None => entry.value,
                Some(why) => {
                    self.lose(&entry.value);
                    Value::Unknown(why)
                }
            };
            args.keywords.push((name, value));
        }
        Ok(())
    }

    /// Assigns to a name, an attribute, an item, or several of them.
    pub(super) fn assign(&mut self, target: &Expr, value: Value) -> Run<()> {
        let range = target.range();
        match target {
            Expr::Name(name) => self.store(name.id.as_str(), value),
            Expr::Attribute(node) => {
                let owner = self.eval(&node.value)?;
                self.set_attribute(&owner, node.attr.as_str(), value, range)?;
            }
            Expr::Subscript(node) => {
                let container = self.eval(&node.value)?;
                let key = self.eval(&node.slice)?;
                self.set_item(&container, key, value, range)?;
            }
            Expr::Tuple(_) | Expr::List(_) => {
                let elements = match target {
                    Expr::Tuple(node) => &node.elts,
                    Expr::List(node) => &node.elts,
                    _ => return Ok(()),
                };
                let starred = elements.iter().any(Expr::is_starred_expr);
                match self.iterate(&value, range)? {
                    Ok(items) if !starred && items.len() == elements.len() => {
                        for (element, item) in elements.iter().zip(items) {
                            self.assign(element, item)?;
                        }
                    }
                    Ok(_) if !starred => {
                        return Err(self.raise("ValueError", "the number of values does not fit", range));
                    }
                    Ok(_) => return Err(self.fatal(range, "a starred target is not evaluated")),
                    Err(why) => {
                        self.lose(&value);
                        for element in elements {
                            self.assign(element, Value::Unknown(why.clone()))?;
                        }
                    }
                }
            }
            Expr::Starred(node) => self.assign(&node.value, value)?,
            _ => return Err(self.fatal(range, "this can't be assigned to")),
        }
        Ok(())
    }

    pub(super) fn augmented(
        &mut self,
        target: &Expr,
        op: Operator,
        value: &Expr,
        range: TextRange,
    ) -> Run<()> {
        // Evaluated once more to store into it: what computes the place may have no effects of its own.
        if !target.is_name_expr() && self.source.slice(target.range()).contains(['(', ':']) {
            return Err(
                self.fatal(target.range(), "a place that is computed by a call is not evaluated here")
            );
        }
        let old = match target {
            Expr::Name(_) | Expr::Attribute(_) | Expr::Subscript(_) => self.eval(target)?,
            _ => return Err(self.fatal(range, "this can't be assigned to")),
        };
        let value = self.eval(value)?;
        let new = match self.in_place(&old, op, &value, range)? {
            Some(same) => same,
            None => self.binary(&old, op, &value, range)?,
        };
        self.assign(target, new)
    }

    /// Puts an entry into a dict that is being made.
    pub(super) fn insert(&mut self, dict: &mut Dict, key: Value, value: Value, range: TextRange) {
        match key.key() {
            Some(hashed) => {
                let key = match dict.entries.get(&hashed) {
                    Some(entry) => entry.key.clone(),
                    None => key,
                };
                dict.entries.insert(hashed, Entry { key, value, maybe: None });
            }
            None => {
                self.lose(&value);
                let why = match key {
                    Value::Unknown(why) => why,
                    _ => self.why(range, "this key is not evaluated"),
                };
                // Any entry may have been replaced.
                for entry in dict.entries.values_mut() {
                    self.lose(&entry.value);
                    entry.value = Value::Unknown(why.clone());
                }
                dict.open = Some(why);
            }
        }
    }
}

/// A name that no identifier is: the list of what a generator has yielded.
pub(super) const YIELDED: &str = "<yielded>";
