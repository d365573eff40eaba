package main

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"os"
	"path/filepath"
	"testing"

	"github.com/aws/aws-cdk-go/awscdk/v2/awslambda"

	"orgops/infra/function"
)

// TestPrograms talks to the CDK's process, so it does not run in parallel.
func TestPrograms(t *testing.T) {
	const x86, arm = elf.EM_X86_64, elf.EM_AARCH64
	tests := []struct {
		name     string
		arch     awslambda.Architecture
		programs []elf.Machine // of a and b; 0: missing
		want     []string      // parts of the error
	}{
		{"both present", awslambda.Architecture_ARM_64(), []elf.Machine{arm, arm}, nil},
		{"both for x86_64", awslambda.Architecture_X86_64(), []elf.Machine{x86, x86}, nil},
		{"one for another processor", awslambda.Architecture_ARM_64(), []elf.Machine{arm, x86},
			[]string{"arm64: a program of X86_64 for b.", "run on arm64", "make build-lambdas LAMBDA_ARCH=arm64"}},
		{"both for another processor", awslambda.Architecture_X86_64(), []elf.Machine{arm, arm}, []string{"a program of AARCH64 for a, b.", "run on x86_64", "LAMBDA_ARCH=amd64"}},
		{"one missing", awslambda.Architecture_ARM_64(), []elf.Machine{arm, 0}, []string{"build/<function>/bootstrap", "no program for b.", "make build-lambdas"}},
		{"nothing built", awslambda.Architecture_ARM_64(), []elf.Machine{0, 0}, []string{"no program for a, b.", "make build-lambdas"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Chdir(t.TempDir())
			for i, name := range []string{"a", "b"} {
				if tt.programs[i] != 0 {
					write(t, filepath.Join(built, name), header(t, tt.programs[i]))
				}
			}
			s := settings{Settings: function.Settings{Assets: built, Architecture: tt.arch}}
			mentions(t, s.programs([]string{"a", "b"}), tt.want)
		})
	}
}

// TestPrograms_NoLinux refuses to deploy programs of another system, but lets an emulator run them.
func TestPrograms_NoLinux(t *testing.T) {
	t.Chdir(t.TempDir())
	for folder, want := range map[string][]string{built: {"no Linux program"}, "elsewhere": nil} {
		for _, name := range []string{"a", "b"} {
			write(t, filepath.Join(folder, name), []byte("\xcf\xfa\xed\xfe and so on"))
		}
		s := settings{Settings: function.Settings{Assets: folder, Architecture: awslambda.Architecture_ARM_64()}}
		mentions(t, s.programs([]string{"a", "b"}), want)
	}
}

func write(t *testing.T, folder string, program []byte) {
	t.Helper()
	if err := os.MkdirAll(folder, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(folder, "bootstrap"), program, 0o755); err != nil {
		t.Fatal(err)
	}
}

// header returns the ELF header of a program without code.
func header(t *testing.T, machine elf.Machine) []byte {
	t.Helper()
	h := elf.Header64{
		Type: uint16(elf.ET_EXEC), Machine: uint16(machine), Version: uint32(elf.EV_CURRENT), Ehsize: 64, Phentsize: 56, Shentsize: 64,
	}
	copy(h.Ident[:], elf.ELFMAG)
	h.Ident[elf.EI_CLASS], h.Ident[elf.EI_DATA], h.Ident[elf.EI_VERSION] = byte(elf.ELFCLASS64), byte(elf.ELFDATA2LSB), byte(elf.EV_CURRENT)
	var b bytes.Buffer
	if err := binary.Write(&b, binary.LittleEndian, h); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}
