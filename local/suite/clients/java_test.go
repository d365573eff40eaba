package clients_test

import (
	"io/fs"
	"path/filepath"
	"strings"
	"testing"

	"orgops/local/suite/servicetest"
	"orgops/shared/testkit/errtest"
)

// java generates the client with openapi-generator, and compiles it and the program.
func java(t *testing.T, folder string) []string {
	t.Helper()
	generator := filepath.Join(servicetest.Installed(t, ".tools/clients-java/generator"), "*")
	runtime := filepath.Join(servicetest.Installed(t, ".tools/clients-java/runtime"), "*")
	copyTo(t, folder, "java/Program.java", "java/openapi-generator.yaml")
	// Each tool runs for a few seconds, too short for the optimizing compiler and the parallel collector to pay off.
	const brief, serial = "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC"
	run(t, folder, nil, "java", brief, serial, "-cp", generator, "org.openapitools.codegen.OpenAPIGenerator",
		"generate", "--config", "openapi-generator.yaml")
	// The generated code has warnings of the other kinds, serial and deprecation, and newer versions of Java add kinds.
	run(t, folder, nil, append([]string{
		"javac", "-J" + brief, "-J" + serial, "-proc:none", "-Xlint:unchecked,rawtypes,cast,removal,overrides,overloads,static,fallthrough,finally,try,varargs", "-Werror",
		"-cp", runtime, "-d", "built", "Program.java",
	}, sources(t, folder, "client")...)...)
	return []string{"java", brief, serial, "-cp", "built" + string(filepath.ListSeparator) + runtime, "Program"}
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
