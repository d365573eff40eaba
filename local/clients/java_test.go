package clients_test

import (
	"io/fs"
	"path/filepath"
	"strings"
	"testing"

	"orgops/local/servicetest"
	"orgops/shared/testkit/errtest"
)

// java generates the client with openapi-generator, and compiles it and the program.
func java(t *testing.T, folder string) []string {
	t.Helper()
	generator := filepath.Join(servicetest.Installed(t, ".tools/clients-java/generator"), "*")
	runtime := filepath.Join(servicetest.Installed(t, ".tools/clients-java/runtime"), "*")
	copyTo(t, folder, "java/Program.java", "java/openapi-generator.yaml")
	// Both tools live for some seconds, in which optimizing their own code does not pay.
	const brief = "-XX:TieredStopAtLevel=1"
	run(t, folder, nil, "java", brief, "-cp", generator, "org.openapitools.codegen.OpenAPIGenerator",
		"generate", "--config", "openapi-generator.yaml")
	// The generated code gets these warnings of all; a newer Java has more, so -Werror does not go with -Xlint:all.
	run(t, folder, nil, append([]string{
		"javac", "-J" + brief, "-proc:none", "-Xlint:unchecked,rawtypes,cast,removal,overrides,overloads,static,fallthrough,finally,try,varargs", "-Werror",
		"-cp", runtime, "-d", "built", "Program.java",
	}, sources(t, folder, "client")...)...)
	return []string{"java", brief, "-cp", "built" + string(filepath.ListSeparator) + runtime, "Program"}
}

// sources lists the Java files in a part of the folder.
func sources(t *testing.T, folder, part string) []string {
	t.Helper()
	var files []string
	errtest.Must(t, filepath.WalkDir(filepath.Join(folder, part), func(file string, _ fs.DirEntry, err error) error {
		if strings.HasSuffix(file, ".java") {
			files = append(files, file)
		}
		return err
	}))
	return files
}
