//! Operators, truth, comparison, and how values are written out.

use std::cmp::Ordering;
use std::fmt::Write as _;
use std::rc::Rc;

use ruff_python_ast::{CmpOp, ExprCompare, Operator};
use ruff_text_size::{Ranged as _, TextRange};

use super::heap::Object;
use super::interp::{Interp, MAX_ITEMS, MAX_TEXT, Run};
use super::value::{Str, Value};

/// How deep collections are compared and written out.
const MAX_DEPTH: usize = 20;

impl Interp<'_> {
    /// Whether a value counts as true; `None` where that is not known.
    pub(super) fn truth(&mut self, value: &Value, range: TextRange) -> Run<Option<bool>> {
        Ok(match value {
            Value::None => Some(false),
            Value::Bool(flag) => Some(*flag),
            Value::Int(number) => Some(*number != 0),
            Value::Float(number) => Some(*number != 0.0),
            Value::Str(text) | Value::Bytes(text) => Some(!text.text.is_empty()),
            Value::Tuple(items) => Some(!items.is_empty()),
            Value::Function(_) | Value::Method(_) | Value::Bound(_) | Value::Pattern(_) | Value::Match(_) => {
                Some(true)
            }
            Value::Version(_) | Value::Path(_) | Value::Exception(_) | Value::Slice(_) => Some(true),
            Value::Builtin(name) if &**name == "typing.TYPE_CHECKING" => Some(false),
            // A dotted name may be that of a constant.
            Value::Builtin(name) if name.contains('.') => None,
            Value::Builtin(_) => Some(true),
            Value::Unknown(_) => None,
            Value::Ref(id) => match self.heap.get(*id) {
                Some(Object::List(items)) => Some(!items.is_empty()),
                Some(Object::Dict(dict)) => {
                    if dict.entries.values().any(|entry| entry.maybe.is_none()) {
                        Some(true)
                    } else if dict.vague().is_some() {
                        None
                    } else {
                        Some(false)
                    }
                }
                Some(Object::Set(items)) => Some(!items.is_empty()),
                Some(Object::Iterator(_) | Object::File(_) | Object::Class(_) | Object::Module { .. }) => {
                    Some(true)
                }
                Some(Object::Instance { .. }) => {
                    self.spend(1, range)?;
                    None
                }
                _ => None,
            },
        })
    }

    pub(super) fn eval_compare(&mut self, node: &ExprCompare) -> Run<Value> {
        let mut left = self.eval(&node.left)?;
        let mut unknown = None;
        for (op, right) in node.ops.iter().zip(&node.comparators) {
            let right = self.eval(right)?;
            self.spend_compare(&left, &right, node.range())?;
            match self.compare(&left, *op, &right) {
                Some(true) => {}
                Some(false) => return Ok(Value::Bool(false)),
                None => {
                    let pair = Value::tuple(vec![left.clone(), right.clone()]);
                    let value = self.as_unknown(&pair, node.range(), "this comparison is not evaluated");
                    if let Value::Unknown(why) = &value {
                        let why = why.clone();
                        self.may_raise(&why, node.range())?;
                    }
                    unknown = Some(value);
                }
            }
            left = right;
        }
        Ok(unknown.unwrap_or(Value::Bool(true)))
    }

    fn spend_compare(&mut self, left: &Value, right: &Value, range: TextRange) -> Run<()> {
        let mut size = 0;
        for value in [left, right] {
            size += match value {
                Value::Ref(id) => self.heap.size(*id),
                Value::Str(text) => text.text.len() / 64,
                Value::Tuple(items) => items.len(),
                _ => 0,
            };
        }
        self.spend(size / 4, range)
    }

    pub(super) fn compare(&mut self, left: &Value, op: CmpOp, right: &Value) -> Option<bool> {
        match op {
            CmpOp::Eq => self.equal(left, right, 0),
            CmpOp::NotEq => self.equal(left, right, 0).map(|equal| !equal),
            CmpOp::Lt => self.order(left, right, 0).map(Ordering::is_lt),
            CmpOp::LtE => self.order(left, right, 0).map(Ordering::is_le),
            CmpOp::Gt => self.order(left, right, 0).map(Ordering::is_gt),
            CmpOp::GtE => self.order(left, right, 0).map(Ordering::is_ge),
            CmpOp::Is => self.identical(left, right),
            CmpOp::IsNot => self.identical(left, right).map(|same| !same),
            CmpOp::In => self.contains(right, left),
            CmpOp::NotIn => self.contains(right, left).map(|inside| !inside),
        }
    }

    fn identical(&self, left: &Value, right: &Value) -> Option<bool> {
        match (left, right) {
            (Value::Unknown(_), _) | (_, Value::Unknown(_)) => None,
            (Value::None | Value::Bool(_), _) | (_, Value::None | Value::Bool(_)) => match (left, right) {
                (Value::Builtin(name), _) | (_, Value::Builtin(name)) if name.contains('.') => None,
                _ => Some(left.same(right)),
            },
            (Value::Ref(a), Value::Ref(b)) => Some(a == b),
            (Value::Builtin(a), Value::Builtin(b)) if a == b => Some(true),
            (Value::Builtin(a), Value::Builtin(b)) if !a.contains('.') && !b.contains('.') => Some(false),
            _ => None,
        }
    }

    pub(super) fn equal(&self, left: &Value, right: &Value, depth: usize) -> Option<bool> {
        if depth > MAX_DEPTH {
            return None;
        }
        match (left, right) {
            (Value::Unknown(_), _) | (_, Value::Unknown(_)) => None,
            (Value::Int(a), Value::Bool(b)) | (Value::Bool(b), Value::Int(a)) => Some(*a == i64::from(*b)),
            (Value::Int(_) | Value::Float(_), Value::Int(_) | Value::Float(_)) => {
                Some(number(left)? == number(right)?)
            }
            (Value::Tuple(a), Value::Tuple(b)) => self.equal_items(a, b, depth),
            (Value::Builtin(a), Value::Builtin(b)) => match a == b {
                true => Some(true),
                false if a.contains('.') || b.contains('.') => None,
                false => Some(false),
            },
            (Value::Builtin(name), _) | (_, Value::Builtin(name)) if name.contains('.') => None,
            (Value::Version(a), Value::Version(b)) => Some(a.0 == b.0),
            (Value::Version(_), _) | (_, Value::Version(_)) => None,
            (Value::Ref(a), Value::Ref(b)) if a == b => match self.heap.get(*a)? {
                Object::Opaque(_) => None,
                _ => Some(true),
            },
            (Value::Ref(a), Value::Ref(b)) => match (self.heap.get(*a)?, self.heap.get(*b)?) {
                (Object::List(a), Object::List(b)) => self.equal_items(a, b, depth),
                _ => None,
            },
            (Value::Ref(id), other) | (other, Value::Ref(id)) => match (self.heap.get(*id)?, other) {
                (
                    Object::List(_) | Object::Dict(_) | Object::Set(_),
                    Value::Str(_) | Value::Int(_) | Value::None | Value::Bool(_) | Value::Tuple(_),
                ) => Some(false),
                _ => None,
            },
            _ => Some(left.same(right)),
        }
    }

    fn equal_items(&self, a: &[Value], b: &[Value], depth: usize) -> Option<bool> {
        if a.len() != b.len() {
            return Some(false);
        }
        let mut known = Some(true);
        for (a, b) in a.iter().zip(b) {
            match self.equal(a, b, depth + 1) {
                Some(true) => {}
                Some(false) => return Some(false),
                None => known = None,
            }
        }
        known
    }

    pub(super) fn order(&self, left: &Value, right: &Value, depth: usize) -> Option<Ordering> {
        if depth > MAX_DEPTH {
            return None;
        }
        match (left, right) {
            (Value::Int(a), Value::Int(b)) => Some(a.cmp(b)),
            (
                Value::Int(_) | Value::Float(_) | Value::Bool(_),
                Value::Int(_) | Value::Float(_) | Value::Bool(_),
            ) => number(left)?.partial_cmp(&number(right)?),
            (Value::Str(a), Value::Str(b)) => Some(a.text.cmp(&b.text)),
            (Value::Version(a), Value::Version(b)) => Some(a.0.cmp(&b.0)),
            (Value::Version(a), Value::Str(b)) => Some(a.0.cmp(&b.text.parse().ok()?)),
            (Value::Str(a), Value::Version(b)) => Some(a.text.parse::<pep440_rs::Version>().ok()?.cmp(&b.0)),
            (Value::Tuple(a), Value::Tuple(b)) => self.order_items(a, b, depth),
            (Value::Ref(a), Value::Ref(b)) => match (self.heap.get(*a)?, self.heap.get(*b)?) {
                (Object::List(a), Object::List(b)) => self.order_items(a, b, depth),
                _ => None,
            },
            _ => None,
        }
    }

    fn order_items(&self, a: &[Value], b: &[Value], depth: usize) -> Option<Ordering> {
        for (a, b) in a.iter().zip(b) {
            if !self.equal(a, b, depth + 1)? {
                return self.order(a, b, depth + 1);
            }
        }
        Some(a.len().cmp(&b.len()))
    }

    /// Whether an item is in a container.
    pub(super) fn contains(&mut self, container: &Value, item: &Value) -> Option<bool> {
        match container {
            Value::Str(text) => match item {
                Value::Str(part) => Some(text.text.contains(&*part.text)),
                _ => None,
            },
            Value::Tuple(items) => self.is_among(items, item),
            Value::Builtin(name) => match (&**name, item) {
                ("os.environ", Value::Str(variable)) if super::stdlib::is_unset(&variable.text) => {
                    Some(false)
                }
                ("sys.builtin_module_names", Value::Str(module))
                    if matches!(&*module.text, "__pypy__" | "_cffi_backend") =>
                {
                    Some(false)
                }
                _ => None,
            },
            Value::Ref(id) => match self.heap.get(*id)? {
                Object::List(items) => self.is_among(items, item),
                Object::Set(items) => match item.key() {
                    Some(key) if items.contains_key(&key) => Some(true),
                    Some(_) => Some(false),
                    None => None,
                },
                Object::Dict(dict) => match dict.entries.get(&item.key()?) {
                    Some(entry) if entry.maybe.is_none() => Some(true),
                    None if dict.open.is_none() => Some(false),
                    _ => None,
                },
                _ => None,
            },
            _ => None,
        }
    }

    fn is_among(&self, items: &[Value], item: &Value) -> Option<bool> {
        let mut known = Some(false);
        for other in items {
            match self.equal(other, item, 0) {
                Some(true) => return Some(true),
                Some(false) => {}
                None => known = None,
            }
        }
        known
    }

    /// What an operator gives; unknown where it is not evaluated.
    pub(super) fn binary(
        &mut self,
        left: &Value,
        op: Operator,
        right: &Value,
        range: TextRange,
    ) -> Run<Value> {
        if let Some(value) = self.binary_known(left, op, right, range)? {
            return Ok(value);
        }
        let why = self
            .reason_in(left, 0)
            .or_else(|| self.reason_in(right, 0))
            .unwrap_or_else(|| self.why(range, "this operation is not evaluated"));
        self.lose_all(&[left.clone(), right.clone()]);
        self.may_raise(&why, range)?;
        Ok(Value::Unknown(why))
    }

    fn binary_known(
        &mut self,
        left: &Value,
        op: Operator,
        right: &Value,
        range: TextRange,
    ) -> Run<Option<Value>> {
        Ok(match (left, op, right) {
            (Value::Str(a), Operator::Add, Value::Str(b)) => {
                self.spend_text(a.text.len() + b.text.len(), range)?;
                Some(Value::Str(a.concat(b)))
            }
            (Value::Bytes(a), Operator::Add, Value::Bytes(b)) => {
                self.spend_text(a.text.len() + b.text.len(), range)?;
                Some(Value::Bytes(a.concat(b)))
            }
            (Value::Str(template), Operator::Mod, value) => self.percent(template, value, range)?,
            (Value::Tuple(a), Operator::Add, Value::Tuple(b)) => {
                self.spend_items(a.len() + b.len(), range)?;
                Some(Value::tuple(a.iter().chain(b.iter()).cloned().collect()))
            }
            (Value::Str(text), Operator::Mult, Value::Int(count))
            | (Value::Int(count), Operator::Mult, Value::Str(text)) => {
                let count = usize::try_from(*count).unwrap_or(0);
                let length = text.text.len().saturating_mul(count);
                self.spend_text(length.min(MAX_TEXT + 1), range)?;
                Some(Value::Str(text.with(text.text.repeat(count))))
            }
            (Value::Path(base), Operator::Div, Value::Str(part) | Value::Path(part)) => {
                self.spend_text(base.text.len() + part.text.len(), range)?;
                Some(Value::Path(Str::bare(super::paths::join(&base.text, &part.text))))
            }
            (
                Value::Int(_) | Value::Float(_) | Value::Bool(_),
                _,
                Value::Int(_) | Value::Float(_) | Value::Bool(_),
            ) => arithmetic(left, op, right),
            (Value::Ref(_), ..) | (.., Value::Ref(_)) => return self.binary_objects(left, op, right, range),
            _ => None,
        })
    }

    fn binary_objects(
        &mut self,
        left: &Value,
        op: Operator,
        right: &Value,
        range: TextRange,
    ) -> Run<Option<Value>> {
        let (a, b) = (self.object(left).cloned(), self.object(right).cloned());
        Ok(match (a, op, b) {
            (Some(Object::List(mut a)), Operator::Add, Some(Object::List(b))) => {
                self.spend_items(a.len() + b.len(), range)?;
                a.extend(b);
                Some(self.new_list(a))
            }
            (Some(Object::List(items)), Operator::Mult, None) => {
                let Value::Int(count) = right else { return Ok(None) };
                let count = usize::try_from(*count).unwrap_or(0);
                self.spend_items(items.len().saturating_mul(count).min(MAX_ITEMS + 1), range)?;
                let repeated: Vec<Value> = (0..count).flat_map(|_| items.iter().cloned()).collect();
                Some(self.new_list(repeated))
            }
            (Some(Object::Dict(mut a)), Operator::BitOr, Some(Object::Dict(_))) => {
                self.update(&mut a, right, range)?;
                Some(Value::Ref(self.alloc(Object::Dict(a))))
            }
            (
                Some(Object::Set(mut a)),
                Operator::BitOr | Operator::Sub | Operator::BitAnd,
                Some(Object::Set(b)),
            ) => {
                self.spend_items(a.len() + b.len(), range)?;
                match op {
                    Operator::BitOr => a.extend(b),
                    Operator::Sub => a.retain(|key, _| !b.contains_key(key)),
                    _ => a.retain(|key, _| b.contains_key(key)),
                }
                Some(Value::Ref(self.alloc(Object::Set(a))))
            }
            _ => None,
        })
    }

    /// `left op= right` where that changes `left` itself; `None` where it is a plain operation.
    pub(super) fn in_place(
        &mut self,
        left: &Value,
        op: Operator,
        right: &Value,
        range: TextRange,
    ) -> Run<Option<Value>> {
        let Value::Ref(id) = left else {
            if let Value::Unknown(why) = left {
                let why = why.clone();
                self.havoc(std::slice::from_ref(right), &why, range)?;
            }
            return Ok(None);
        };
        match (self.heap.get(*id), op) {
            (Some(Object::List(_)), Operator::Add) => {
                self.extend(left, right, range)?;
                Ok(Some(left.clone()))
            }
            (Some(Object::Dict(dict)), Operator::BitOr) => {
                let mut dict = dict.clone();
                self.update(&mut dict, right, range)?;
                self.heap.put(*id, Object::Dict(dict));
                Ok(Some(left.clone()))
            }
            (
                Some(
                    Object::List(_)
                    | Object::Dict(_)
                    | Object::Set(_)
                    | Object::Instance { .. }
                    | Object::Opaque(_),
                ),
                _,
            ) => {
                let why = self
                    .reason_in(left, 0)
                    .unwrap_or_else(|| self.why(range, "this operation is not evaluated"));
                self.havoc(&[left.clone(), right.clone()], &why, range)?;
                Ok(Some(Value::Unknown(why)))
            }
            _ => Ok(None),
        }
    }

    /// `str(value)`, where that is known.
    pub(super) fn text_of(&self, value: &Value) -> Option<Rc<str>> {
        match value {
            Value::Str(text) | Value::Path(text) => Some(text.text.clone()),
            Value::Version(version) => Some(version.0.to_string().into()),
            _ => self.repr(value, 0),
        }
    }

    /// `repr(value)`, where that is known.
    pub(super) fn repr(&self, value: &Value, depth: usize) -> Option<Rc<str>> {
        if depth > 8 {
            return None;
        }
        Some(match value {
            Value::None => "None".into(),
            Value::Bool(true) => "True".into(),
            Value::Bool(false) => "False".into(),
            Value::Int(number) => number.to_string().into(),
            Value::Float(number) => {
                let text = format!("{number:?}");
                // Python writes large and small ones another way.
                if text.contains('e') || text.len() > 17 || !number.is_finite() {
                    return None;
                }
                text.into()
            }
            Value::Str(text) => {
                if text.text.contains(['\\', '\'', '"']) || text.text.chars().any(char::is_control) {
                    return None;
                }
                format!("'{}'", text.text).into()
            }
            Value::Tuple(items) => {
                self.repr_items(items, "(", if items.len() == 1 { ",)" } else { ")" }, depth)?
            }
            Value::Ref(id) => match self.heap.get(*id)? {
                Object::List(items) => self.repr_items(items, "[", "]", depth)?,
                _ => return None,
            },
            _ => return None,
        })
    }

    fn repr_items(&self, items: &[Value], open: &str, close: &str, depth: usize) -> Option<Rc<str>> {
        let mut text = open.to_owned();
        for (at, item) in items.iter().enumerate() {
            if at > 0 {
                text.push_str(", ");
            }
            write!(text, "{}", self.repr(item, depth + 1)?).ok()?;
            if text.len() > 100_000 {
                return None;
            }
        }
        text.push_str(close);
        Some(text.into())
    }
}

#[expect(
    clippy::cast_precision_loss,
    reason = "Python compares and computes so, too, for numbers of this size"
)]
pub(super) fn number(value: &Value) -> Option<f64> {
    match value {
        Value::Int(number) => Some(*number as f64),
        Value::Float(number) => Some(*number),
        Value::Bool(flag) => Some(f64::from(*flag)),
        _ => None,
    }
}

fn arithmetic(left: &Value, op: Operator, right: &Value) -> Option<Value> {
    let int = |value: &Value| match value {
        Value::Int(number) => Some(*number),
        Value::Bool(flag) => Some(i64::from(*flag)),
        _ => None,
    };
    if let (Some(a), Some(b)) = (int(left), int(right)) {
        let result = match op {
            Operator::Add => a.checked_add(b),
            Operator::Sub => a.checked_sub(b),
            Operator::Mult => a.checked_mul(b),
            Operator::FloorDiv if b > 0 => Some(a.div_euclid(b)),
            Operator::Mod if b > 0 => Some(a.rem_euclid(b)),
            Operator::Pow => a.checked_pow(u32::try_from(b).ok()?),
            Operator::BitAnd => Some(a & b),
            Operator::BitOr => Some(a | b),
            Operator::BitXor => Some(a ^ b),
            Operator::LShift if (0..62).contains(&b) => {
                a.checked_mul(1_i64.checked_shl(u32::try_from(b).ok()?)?)
            }
            Operator::RShift if (0..63).contains(&b) => a.checked_shr(u32::try_from(b).ok()?),
            Operator::Div if b != 0 => return Some(Value::Float(number(left)? / number(right)?)),
            _ => None,
        };
        return result.map(Value::Int);
    }
    let (a, b) = (number(left)?, number(right)?);
    match op {
        Operator::Add => Some(Value::Float(a + b)),
        Operator::Sub => Some(Value::Float(a - b)),
        Operator::Mult => Some(Value::Float(a * b)),
        Operator::Div if b != 0.0 => Some(Value::Float(a / b)),
        _ => None,
    }
}
