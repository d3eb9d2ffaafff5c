//! A Java program from Maven Central: its jars in a folder, a class of ours beside them, and a script that starts it.

use std::fmt::Write;
use std::path::{Path, PathBuf};

use super::step::Step;
use super::{Install, Java};

/// Names another repository than the public one.
const REPOSITORY_VARIABLE: &str = "UNBLINK_MAVEN_REPOSITORY";
const CENTRAL: &str = "https://repo.maven.apache.org/maven2";
/// Maven does nothing by itself; this one copies what a project depends on.
const COPY: &str = "org.apache.maven.plugins:maven-dependency-plugin:3.6.1:copy-dependencies";

/// Into `home`, to be started by `launcher`.
pub(super) fn steps(install: &Install, java: &Java, name: &str, home: &Path, launcher: PathBuf) -> Vec<Step> {
    let run = |program: &str, words: &[&str]| Step::Run {
        program: program.into(),
        words: words.iter().map(|word| (*word).to_owned()).collect(),
        folder: home.to_owned(),
    };
    let repository = std::env::var(REPOSITORY_VARIABLE).ok().filter(|url| !url.is_empty());
    let pom = pom(install, java, repository.as_deref().unwrap_or(CENTRAL));
    let mut steps = vec![
        Step::Folder(home.join("classes")),
        Step::File(home.join("pom.xml"), pom),
        run("mvn", &["--quiet", "--batch-mode", COPY, "-DoutputDirectory=lib"]),
    ];
    for artifact in &java.unpack {
        steps.push(run("jar", &["xf", &format!("lib/{artifact}-{}.jar", version(install))]));
    }
    for (file, text) in &java.sources {
        steps.push(Step::File(home.join(file), text.clone()));
        steps.push(run("javac", &["-cp", "lib/*", "-d", "classes", file]));
    }
    steps.push(Step::Script(launcher, script(install, java, name, home)));
    steps
}

fn version(install: &Install) -> &str {
    install.version.as_deref().unwrap_or("LATEST")
}

/// A project that only depends.
fn pom(install: &Install, java: &Java, repository: &str) -> String {
    let place = format!("<id>central</id><url>{repository}</url>");
    let mut text = format!(
        "<project xmlns=\"http://maven.apache.org/POM/4.0.0\">\n<modelVersion>4.0.0</modelVersion>\n\
         <groupId>lab</groupId><artifactId>lab</artifactId><version>1</version><packaging>pom</packaging>\n\
         <repositories><repository>{place}</repository></repositories>\n\
         <pluginRepositories><pluginRepository>{place}</pluginRepository></pluginRepositories>\n<dependencies>\n"
    );
    for artifact in std::iter::once(&install.package).chain(&java.with) {
        let (group, name) = artifact.split_once(':').unwrap_or((artifact, artifact));
        // Writing to a String cannot fail.
        let _ = writeln!(
            text,
            "<dependency><groupId>{group}</groupId><artifactId>{name}</artifactId><version>{}</version></dependency>",
            version(install)
        );
    }
    text + "</dependencies>\n</project>\n"
}

/// Status 127 is a shell's for a program that is not there.
fn script(install: &Install, java: &Java, name: &str, home: &Path) -> String {
    let home = home.to_string_lossy().replace('\'', "'\\''");
    let words: String = java.words.iter().map(|word| format!(" \"{word}\"")).collect();
    format!(
        "#!/bin/sh\nhome='{home}'\n\
         command -v java > /dev/null || {{\n  \
         echo 'java is needed and not here: apt-get install default-jre-headless' >&2\n  exit 127\n}}\n\
         [ \"$1\" = --version ] && {{ echo '{name} {}'; exit; }}\n\
         exec java -cp \"$home/classes:$home/lib/*\"{words} \"$@\"\n",
        version(install)
    )
}

#[cfg(test)]
mod tests {
    use super::super::Definition;
    use super::*;

    #[test]
    fn a_java_program_is_its_jars_a_class_and_a_script() {
        let all = Definition::built_in().expect("definitions");
        let gatling = all.into_iter().find(|definition| definition.name == "gatling-open").expect("it");
        let install = gatling.install.expect("an origin");
        let java = install.java.clone().expect("Java");
        let steps = steps(&install, &java, "gatling", Path::new("/it's/gatling"), "/it's/bin/gatling".into());
        let Step::File(_, pom) = &steps[1] else { panic!("{steps:?}") };
        assert!(pom.contains("<artifactId>gatling-app</artifactId><version>3.15.0</version>"), "{pom}");
        let described: Vec<String> = steps.iter().map(Step::describe).collect();
        assert!(
            described.contains(&"javac -cp lib/* -d classes GatlingLoad.java".to_owned()),
            "{described:?}"
        );
        let Some(Step::Script(_, script)) = steps.last() else { panic!("{steps:?}") };
        assert!(script.contains("home='/it'\\''s/gatling'\n"), "{script}");
        assert!(script.ends_with("\"GatlingLoad\" \"$@\"\n"), "{script}");
    }
}
