# Sourced by what asks YCSB itself: gets its jar from Maven Central. `folder` is a place for files, `path` its class path.

for needed in javac mvn; do
    command -v $needed >/dev/null || { echo "there is no $needed: apt-get install default-jdk-headless maven" >&2; exit 2; }
done
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

cat >"$folder/pom.xml" <<POM
<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <groupId>unblink</groupId><artifactId>ycsb-law</artifactId><version>1</version>
  <dependencies>
    <dependency><groupId>site.ycsb</groupId><artifactId>core</artifactId><version>0.17.0</version></dependency>
  </dependencies>
</project>
POM
mvn -q -f "$folder/pom.xml" dependency:build-classpath -Dmdep.outputFile="$folder/path" >&2
path=$(cat "$folder/path")
