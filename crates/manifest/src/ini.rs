//! Configuration files as Python's `configparser` reads them, with the line of every line of a value.
//! (The crate of that name gives no lines.)

use indexmap::IndexMap;

/// A configuration file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Ini {
    sections: IndexMap<String, Section>,
}

/// A section: its values by their keys, as written.
pub type Section = IndexMap<String, IniValue>;

/// A value: its lines without white space around, each with its number in the file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IniValue {
    /// The line of the key.
    pub line: u32,
    lines: Vec<(u32, String)>,
}

impl IniValue {
    /// The value's lines; those at the end that are empty are left out.
    pub fn lines(&self) -> &[(u32, String)] {
        &self.lines
    }

    /// The whole value.
    pub fn text(&self) -> String {
        self.lines.iter().map(|(_, line)| line.as_str()).collect::<Vec<_>>().join("\n")
    }
}

/// Why a text is no configuration file, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IniError {
    /// The line.
    pub line: u32,
    /// What is wrong with it.
    pub reason: String,
}

impl Ini {
    /// A section, if it is there.
    pub fn section(&self, name: &str) -> Option<&Section> {
        self.sections.get(name)
    }

    /// Reads a file. `%(name)s` is put in from the same section or `[DEFAULT]` by whoever wants it.
    ///
    /// # Errors
    /// Where a line is none of a configuration file.
    pub fn parse(text: &str) -> Result<Self, IniError> {
        let mut reader = Reader::default();
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        for (number, line) in (1..).zip(text.lines()) {
            reader.line(number, line)?;
        }
        reader.finish()
    }
}

#[derive(Default)]
struct Reader {
    ini: Ini,
    section: Option<String>,
    key: Option<String>,
    indent: usize,
}

impl Reader {
    fn line(&mut self, number: u32, line: &str) -> Result<(), IniError> {
        let text = line.trim();
        let error = |reason: String| Err(IniError { line: number, reason });
        if text.starts_with(['#', ';']) {
            return Ok(());
        }
        if text.is_empty() {
            if let Some(value) = self.value() {
                value.lines.push((number, String::new()));
            }
            return Ok(());
        }
        let indent = line.chars().take_while(|c| c.is_whitespace()).count();
        if indent > self.indent
            && let Some(value) = self.value()
        {
            value.lines.push((number, text.to_owned()));
            return Ok(());
        }
        self.indent = indent;
        if let Some(name) =
            text.strip_prefix('[').and_then(|rest| rest.rsplit_once(']')).map(|(name, _)| name)
        {
            if self.ini.sections.insert(name.to_owned(), Section::new()).is_some() {
                return error(format!("the section `[{name}]` is there twice"));
            }
            self.section = Some(name.to_owned());
            self.key = None;
            return Ok(());
        }
        let Some(section) = self.section.as_ref().and_then(|name| self.ini.sections.get_mut(name)) else {
            return error(format!("`{}` stands before any section", shown(text)));
        };
        let Some((key, value)) = text.split_once(['=', ':']) else {
            return error(format!("`{}` is neither a section nor `key = value`", shown(text)));
        };
        let key = key.trim().to_owned();
        let value = IniValue { line: number, lines: vec![(number, value.trim().to_owned())] };
        if key.is_empty() {
            return error("a key is missing".to_owned());
        }
        if section.insert(key.clone(), value).is_some() {
            return error(format!("`{key}` is there twice in its section"));
        }
        self.key = Some(key);
        Ok(())
    }

    fn value(&mut self) -> Option<&mut IniValue> {
        self.ini.sections.get_mut(self.section.as_ref()?)?.get_mut(self.key.as_ref()?)
    }

    fn finish(mut self) -> Result<Ini, IniError> {
        for value in self.ini.sections.values_mut().flat_map(IndexMap::values_mut) {
            while value.lines.last().is_some_and(|(_, line)| line.is_empty()) && value.lines.len() > 1 {
                value.lines.pop();
            }
        }
        Ok(self.ini)
    }
}

/// A value as `configparser` hands it out: `%%` is a percent sign, `%(name)s` another value of the section
/// or of `[DEFAULT]`.
pub(crate) fn interpolated(ini: &Ini, section: &str, value: &IniValue) -> Result<IniValue, IniError> {
    const MOST_BYTES: usize = 1 << 17;
    let mut found = value.clone();
    for (line, text) in &mut found.lines {
        let mut budget = MOST_BYTES;
        *text = interpolate(ini, section, text, 10, &mut budget)
            .map_err(|reason| IniError { line: *line, reason })?;
    }
    Ok(found)
}

fn interpolate(
    ini: &Ini,
    section: &str,
    text: &str,
    depth: u8,
    budget: &mut usize,
) -> Result<String, String> {
    let mut out = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('%') {
        out.push_str(before);
        if let Some(tail) = after.strip_prefix('%') {
            out.push('%');
            rest = tail;
            continue;
        }
        let reference = after.strip_prefix('(').and_then(|after| after.split_once(")s"));
        let Some((name, tail)) = reference else {
            return Err("`%` must be followed by `%` or `(name)s`".to_owned());
        };
        let sections = [section, "DEFAULT"];
        let value = sections.iter().find_map(|section| ini.section(section)?.get(name));
        let Some(value) = value.filter(|_| depth > 0) else {
            return Err(format!("`%({name})s` names no value, or itself"));
        };
        out.push_str(&interpolate(ini, section, &value.text(), depth - 1, budget)?);
        rest = tail;
    }
    out.push_str(rest);
    *budget = budget.checked_sub(out.len() + 1).ok_or("the value grows too large")?;
    Ok(out)
}

fn shown(text: &str) -> String {
    text.chars().take(60).collect()
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};

    use super::*;

    fn check(text: &str, expected: &Expect) {
        let mut out = String::new();
        match Ini::parse(text) {
            Err(error) => out = format!("{}: {}", error.line, error.reason),
            Ok(ini) => {
                for (section, (key, value)) in ini
                    .sections
                    .iter()
                    .flat_map(|(name, values)| values.iter().map(move |value| (name, value)))
                {
                    match interpolated(&ini, section, value) {
                        Ok(value) => out += &format!("[{section}] {key} {:?}\n", value.lines),
                        Err(error) => out += &format!("[{section}] {key} {}: {}\n", error.line, error.reason),
                    }
                }
            }
        }
        expected.assert_eq(&out);
    }

    #[test]
    fn values_know_their_lines() {
        check(
            "[metadata]\nname = foo\nVersion: 1.0\n[options]\ninstall_requires =\n    a>=1 # no comment\n    # a comment\n\n\
             \x20   b; python_version < \"3\"\n\npython_requires = >=3.6\n[options.extras_require]\ntest =\n  pytest\n",
            &expect![[r#"
                [metadata] name [(2, "foo")]
                [metadata] Version [(3, "1.0")]
                [options] install_requires [(5, ""), (6, "a>=1 # no comment"), (8, ""), (9, "b; python_version < \"3\"")]
                [options] python_requires [(11, ">=3.6")]
                [options.extras_require] test [(13, ""), (14, "pytest")]
            "#]],
        );
    }

    #[test]
    fn values_are_put_in() {
        check(
            "[DEFAULT]\nx = 1\n[a]\ny = %(x)s%% %(z)s\nz = 2\nloop = %(loop)s\nbad = 5%\nnone = %(none-such)s\n",
            &expect![[r#"
                [DEFAULT] x [(2, "1")]
                [a] y [(4, "1% 2")]
                [a] z [(5, "2")]
                [a] loop 6: `%(loop)s` names no value, or itself
                [a] bad 7: `%` must be followed by `%` or `(name)s`
                [a] none 8: `%(none-such)s` names no value, or itself
            "#]],
        );
    }

    #[test]
    fn the_rest_is_refused() {
        check("x = 1\n", &expect!["1: `x = 1` stands before any section"]);
        check("[a]\nx\n", &expect!["2: `x` is neither a section nor `key = value`"]);
        check("[a]\nx=1\nx=2\n", &expect!["3: `x` is there twice in its section"]);
        check("[a]\n[a]\n", &expect!["2: the section `[a]` is there twice"]);
    }

    #[test]
    fn growth_is_bounded() {
        let mut text = "[a]\nv0 = xxxxxxxxxxxxxxxxxxxx\n".to_owned();
        for level in 1..10 {
            let reference = format!("%(v{})s", level - 1).repeat(50);
            text += &format!("v{level} = {reference}\n");
        }
        let ini = Ini::parse(&text).expect("a file");
        let value = ini.section("a").and_then(|section| section.get("v9")).expect("a value");
        assert_eq!(
            interpolated(&ini, "a", value).map_err(|error| error.reason),
            Err("the value grows too large".to_owned())
        );
    }
}
