//! The values that a plan names, which its requests refer to.

use crate::kept::KEPT_MAX;
use crate::source::Source;

/// Values that a plan may name at the most: which of them an arrival has drawn is kept in the bits of a word.
pub const LETS_MAX: usize = 64;

/// The table of named values.
#[derive(Clone, Debug, Default)]
pub struct Lets {
    lets: Vec<(String, Source)>,
    /// Names of values that are taken from answers.
    captured: Vec<String>,
    /// Names of values that journeys take from answers, each for itself.
    kept: Vec<String>,
    /// Mixed into what must be unique among all runs; 0 makes it the same for the same seed.
    run_id: u64,
}

/// Words of templates that mean something already.
const TAKEN: [&str; 7] = ["index", "uuid", "int", "now", "bytes", "number", "traceparent"];

impl Lets {
    /// The same for one run of many: what must be unique among all runs differs from that of others, unless the number is 0.
    pub fn of_run(self, run_id: u64) -> Lets {
        Lets { run_id, ..self }
    }

    /// What is mixed into what must be unique among all runs.
    pub fn run_id(&self) -> u64 {
        self.run_id
    }

    /// Adds a value.
    ///
    /// # Errors
    /// For a name that is none, or is taken.
    pub fn add(&mut self, name: &str, source: Source) -> Result<(), String> {
        self.check_free(name)?;
        if self.lets.len() == LETS_MAX {
            return Err(format!("a plan names at most {LETS_MAX} values, and {name} is one more"));
        }
        self.lets.push((name.to_string(), source));
        Ok(())
    }

    /// Adds a value that is taken from an answer. Gives its number among these.
    ///
    /// # Errors
    /// For a name that is none, or is taken.
    pub fn add_captured(&mut self, name: &str) -> Result<u32, String> {
        self.check_free(name)?;
        self.captured.push(name.to_string());
        Ok(self.captured.len() as u32 - 1)
    }

    /// Adds a value that journeys take from their answers; several may have one of the same name. Gives its number among
    /// these.
    ///
    /// # Errors
    /// For a name that is none, or is taken.
    pub fn add_kept(&mut self, name: &str) -> Result<u32, String> {
        if let Some(known) = self.kept(name) {
            return Ok(known);
        }
        self.check_free(name)?;
        self.push_kept(name.to_string())
    }

    /// Adds the cookies of journeys at one origin, which no template can call. `number` is that of the origin among those of
    /// a journey.
    ///
    /// # Errors
    /// There are too many values.
    pub fn add_cookies(&mut self, number: usize) -> Result<u32, String> {
        let name = Lets::cookies_name(number);
        self.kept(&name).map_or_else(|| self.push_kept(name), Ok)
    }

    /// What stands between the braces of a `Cookie` header for these.
    pub fn cookies_name(number: usize) -> String {
        format!("cookies {number}")
    }

    /// Adds the value that keeps where a journey's latest request went, which no template of a plan can call.
    ///
    /// # Errors
    /// There are too many values.
    pub fn add_went(&mut self) -> Result<u32, String> {
        self.kept(Lets::WENT).map_or_else(|| self.push_kept(Lets::WENT.to_string()), Ok)
    }

    /// What stands between the braces in the path of a request that follows a redirect.
    pub const WENT: &str = "where to";

    fn push_kept(&mut self, name: String) -> Result<u32, String> {
        if self.kept.len() == KEPT_MAX {
            return Err(format!("journeys take at most {KEPT_MAX} values by name, and this is one more"));
        }
        self.kept.push(name);
        Ok(self.kept.len() as u32 - 1)
    }

    /// The number of the value with this name that journeys take.
    pub fn kept(&self, name: &str) -> Option<u32> {
        self.kept.iter().position(|own| own == name).map(|number| number as u32)
    }

    /// The name of the value with this number that journeys take.
    pub fn kept_name(&self, number: u32) -> Option<&str> {
        self.kept.get(number as usize).map(String::as_str)
    }

    /// How many values journeys take, by name.
    pub fn kept_count(&self) -> usize {
        self.kept.len()
    }

    fn check_free(&self, name: &str) -> Result<(), String> {
        Lets::check_name(name)?;
        match self.number(name).is_some() || self.captured(name).is_some() || self.kept(name).is_some() {
            true => Err(format!("{name} is given twice: give each value a name of its own")),
            false => Ok(()),
        }
    }

    /// The number of the captured value with this name.
    pub fn captured(&self, name: &str) -> Option<u32> {
        self.captured.iter().position(|own| own == name).map(|number| number as u32)
    }

    /// The name of the captured value with this number.
    pub fn captured_name(&self, number: u32) -> Option<&str> {
        self.captured.get(number as usize).map(String::as_str)
    }

    /// How many values are taken from answers.
    pub fn captured_count(&self) -> usize {
        self.captured.len()
    }

    /// May a value be called this?
    ///
    /// # Errors
    /// Why not.
    pub fn check_name(name: &str) -> Result<(), String> {
        let is_start = |c: char| c.is_ascii_alphabetic() || c == '_';
        let is_word =
            name.starts_with(is_start) && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
        if !is_word {
            return Err(format!(
                "{name:?} is not a valid name for a value: use letters, digits and _, and do not begin with a digit"
            ));
        }
        match TAKEN.contains(&name) {
            true => Err(format!("{name} means something in templates already: choose another name")),
            false => Ok(()),
        }
    }

    /// The number of the value with this name.
    pub fn number(&self, name: &str) -> Option<u32> {
        self.lets.iter().position(|(own, _)| own == name).map(|number| number as u32)
    }

    /// Names and sources, in the order of their numbers.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (&str, &Source)> {
        self.lets.iter().map(|(name, source)| (name.as_str(), source))
    }

    /// What it is drawn from.
    #[inline]
    pub fn source(&self, number: u32) -> &Source {
        &self.lets[number as usize].1
    }

    /// What a template may use, in words.
    pub(crate) fn in_words(&self) -> String {
        let own = self.iter().map(|(name, _)| name).chain(self.captured.iter().map(String::as_str));
        let own: Vec<&str> = own.collect();
        let own = match own.is_empty() {
            true => "no value is named by let".to_string(),
            false => format!("the plan names {}", own.join(", ")),
        };
        format!("{own}; and there are index, uuid, int(1,100), now and bytes(100)")
    }
}
