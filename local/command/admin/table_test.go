package admin_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"orgops/shared/base/id"
	"orgops/shared/domain/company"
	"orgops/shared/insight/projection"
	"orgops/shared/storage/store"
	"orgops/shared/storage/store/dynamostore"
	"orgops/shared/testkit/awstest"
	"orgops/shared/testkit/errtest"
)

// TestTable_Restore restores a main table: its contexts lose their position, which is one of the former stream, and show what the
// records say. The command names the companies that the restore brought back or lacks.
func TestTable_Restore(t *testing.T) {
	t.Parallel()
	access := awstest.Access(t, awstest.Tables(moto), moto)
	e := environment{"ORGOPS_BACKEND": "aws", "ORGOPS_TABLE": "restore", "ORGOPS_KEYS_TABLE": "restore-keys"}.with(awstest.Environment(t, awstest.Tables(moto), moto)...)
	for _, table := range []string{"restore", "restore-keys"} {
		errtest.Must(t, dynamostore.Create(t.Context(), access, table, dynamostore.Shape{Stream: table == "restore", TTL: true}))
	}
	main := dynamostore.New(access, dynamostore.Options{Table: "restore"})
	enter := func(st store.Store, id string) {
		errtest.Must(t, st.Commit(t.Context(), store.RegistryOf(id).Entry(id, company.RegistryEntity, 0, company.Entry{ID: id})))
	}
	one := id.New()
	enter(main, one)
	stale := projection.Empty(one)
	stale.Applied, stale.ContextVersion = "999999999999999999999", 7
	errtest.Must(t, main.Commit(t.Context(), projection.Save(store.For(main, one), 0, stale)))

	restore := func(args ...string) map[string]any {
		t.Helper()
		out, _, err := e.run(t, append([]string{"table", "restore"}, args...)...)
		errtest.Must(t, err)
		var line map[string]any
		errtest.Must(t, json.Unmarshal([]byte(out), &line))
		return line
	}
	line := restore("--table", "main", "--to", "restored")
	stream, _ := line["streamArn"].(string)
	want := map[string]any{"table": "restored", "streamArn": stream, "contexts": 1.0, "deploy": "-c mainTable=" + stream}
	if diff := cmp.Diff(want, line); diff != "" {
		t.Errorf("restore of the main table (-want +got):\n%s", diff)
	}
	if !strings.Contains(stream, ":table/restored/stream/") {
		t.Errorf("stream %q, want the restored table's", stream)
	}
	restored := dynamostore.New(access, dynamostore.Options{Table: "restored"})
	is, _, err := projection.Load(t.Context(), store.For(restored, one))
	errtest.Must(t, err)
	if is.Applied != "" {
		t.Errorf("the context's position is %q, want none: the new stream has other numbers", is.Applied)
	}

	younger, erased := id.New(), id.New()
	enter(main, younger)
	enter(restored, erased)
	line = restore("--table", "main", "--to", "restored")
	if diff := cmp.Diff([]any{erased}, line["erasedSince"]); diff != "" {
		t.Errorf("companies erased since (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]any{younger}, line["createdSince"]); diff != "" {
		t.Errorf("companies created since (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(map[string]any{"table": "keys-2", "contexts": 0.0, "deploy": "-c keysTable=keys-2"}, restore("--table", "keys", "--to", "keys-2")); diff != "" {
		t.Errorf("restore of the keys table (-want +got):\n%s", diff)
	}
}

func TestTable_Restore_Refused(t *testing.T) {
	t.Parallel()
	e := environment{"ORGOPS_BACKEND": "aws", "ORGOPS_TABLE": "a", "ORGOPS_KEYS_TABLE": "b"}.with(awstest.Environment(t, awstest.Tables(moto), moto)...)
	for _, tt := range []struct {
		want string
		args []string
	}{
		{"--table: pass main or keys", []string{"--table", "other", "--to", "c"}},
		{"--to: pass the name", []string{"--table", "main"}},
		{"--to: pass the name", []string{"--table", "keys", "--to", "b"}},
		{"--at: ", []string{"--table", "main", "--to", "c", "--at", "yesterday"}},
		{"table a: ", []string{"--table", "main", "--to", "c"}},
	} {
		_, _, err := e.run(t, append([]string{"table", "restore"}, tt.args...)...)
		if got := errtest.Message(err); !strings.Contains(got, tt.want) {
			t.Errorf("%v: error %q, want one with %q", tt.args, got, tt.want)
		}
	}
}
