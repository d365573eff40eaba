package awstest

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"orgops/shared/awsclient"
)

// Services stands in for the few calls of KMS, Secrets Manager and API Gateway that this program makes, over HTTP and in
// memory: one KMS key, one secret.
type Services struct {
	URL string

	aead    cipher.AEAD
	mu      sync.Mutex
	values  map[string]string   // of the secret, by version
	stages  map[string][]string // of the secret, by version
	usage   map[string]string   // usage plan by the key's value
	byID    map[string]string   // value of a usage key by its id
	counted map[string]int      // calls by operation
}

// NewServices starts them with a secret whose current version has this text; "" is no secret yet.
func NewServices(t testing.TB, secret string) *Services {
	t.Helper()
	key := make([]byte, 32)
	rand.Read(key)
	block, err := aes.NewCipher(key)
	if err != nil {
		t.Fatal(err)
	}
	s := &Services{usage: map[string]string{}, byID: map[string]string{}, counted: map[string]int{}}
	if s.aead, err = cipher.NewGCM(block); err != nil {
		t.Fatal(err)
	}
	if secret != "" {
		s.SetSecret(secret)
	}
	server := httptest.NewServer(s)
	t.Cleanup(server.Close)
	s.URL = server.URL
	return s
}

// Access is what a client of the services is made from.
func (s *Services) Access(t testing.TB) awsclient.Access {
	t.Helper()
	return Access(t, s)
}

func (s *Services) at(testing.TB) (string, []string) {
	return s.URL, []string{"KMS", "SECRETS_MANAGER", "API_GATEWAY"}
}

// SetSecret makes the secret anew, with one version.
func (s *Services) SetSecret(text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.values, s.stages = map[string]string{"first": text}, map[string][]string{"first": {"AWSCURRENT"}}
}

// BeginRotation gives the secret a version that is pending and has no text.
func (s *Services) BeginRotation(version string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.move("AWSPENDING", version)
}

// UsagePlan is the plan that a usage key is in; "" for none.
func (s *Services) UsagePlan(key string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.usage[key]
}

// Calls is how often an operation, such as GetSecretValue, was called.
func (s *Services) Calls(operation string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.counted[operation]
}

// call is the members of all requests.
type call struct {
	Plaintext, CiphertextBlob                      []byte
	EncryptionContext                              map[string]string
	VersionStage, ClientRequestToken, SecretString string
	VersionStages                                  []string
	MoveToVersionId, RemoveFromVersionId           string //nolint:revive // as AWS writes them
	Value, KeyID                                   string // of usage keys
}

// refusal is an error of AWS's.
type refusal struct{ kind string }

func (r refusal) Error() string { return r.kind }

// ServeHTTP implements http.Handler.
func (s *Services) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var in call
	_ = json.NewDecoder(r.Body).Decode(&in) // what does not decode is empty, and refused
	_, operation, isJSON := strings.Cut(r.Header.Get("X-Amz-Target"), ".")
	s.mu.Lock()
	defer s.mu.Unlock()
	s.counted[operation]++
	w.Header().Set("Content-Type", "application/x-amz-json-1.1")
	var out map[string]any
	var err error
	if isJSON {
		out, err = s.answer(operation, in)
	} else {
		w.Header().Set("Content-Type", "application/json")
		out, err = s.gateway(r.URL.Path, in)
		if err == nil {
			w.WriteHeader(http.StatusCreated)
		}
	}
	if err != nil {
		w.Header().Set("X-Amzn-Errortype", err.Error())
		w.WriteHeader(http.StatusBadRequest)
		out = map[string]any{"__type": err.Error(), "message": "refused"}
	}
	_ = json.NewEncoder(w).Encode(out) // a client that has gone notices by itself
}

func (s *Services) answer(operation string, in call) (map[string]any, error) {
	bound, _ := json.Marshal(in.EncryptionContext) // in the order of its keys
	switch operation {
	case "Encrypt":
		nonce := make([]byte, s.aead.NonceSize())
		rand.Read(nonce)
		return map[string]any{"CiphertextBlob": s.aead.Seal(nonce, nonce, in.Plaintext, bound)}, nil
	case "Decrypt":
		n := s.aead.NonceSize()
		if len(in.CiphertextBlob) < n {
			return nil, refusal{"InvalidCiphertextException"}
		}
		plain, err := s.aead.Open(nil, in.CiphertextBlob[:n], in.CiphertextBlob[n:], bound)
		if err != nil {
			return nil, refusal{"InvalidCiphertextException"}
		}
		return map[string]any{"Plaintext": plain}, nil
	case "GetSecretValue", "DescribeSecret", "PutSecretValue", "UpdateSecretVersionStage":
		if s.values == nil {
			return nil, refusal{"ResourceNotFoundException"}
		}
		return s.secret(operation, in)
	}
	return nil, refusal{"UnknownOperationException"}
}

func (s *Services) secret(operation string, in call) (map[string]any, error) {
	switch operation {
	case "GetSecretValue":
		for version, stages := range s.stages {
			if text, ok := s.values[version]; ok && slices.Contains(stages, in.VersionStage) {
				return map[string]any{"SecretString": text, "VersionId": version}, nil
			}
		}
		return nil, refusal{"ResourceNotFoundException"}
	case "PutSecretValue":
		if was, ok := s.values[in.ClientRequestToken]; ok && was != in.SecretString {
			return nil, refusal{"ResourceExistsException"}
		}
		s.values[in.ClientRequestToken] = in.SecretString
		for _, stage := range in.VersionStages {
			s.move(stage, in.ClientRequestToken)
		}
	case "UpdateSecretVersionStage":
		if !slices.Contains(s.stages[in.RemoveFromVersionId], in.VersionStage) {
			return nil, refusal{"InvalidParameterException"}
		}
		s.move(in.VersionStage, in.MoveToVersionId)
	}
	return map[string]any{"VersionIdsToStages": s.stages}, nil
}

// move takes a stage from the version that has it and gives it to another.
func (s *Services) move(stage, to string) {
	for version, stages := range s.stages {
		s.stages[version] = slices.DeleteFunc(stages, func(other string) bool { return other == stage })
	}
	s.stages[to] = append(s.stages[to], stage)
}

// gateway takes a usage key, and puts one into a plan.
func (s *Services) gateway(path string, in call) (map[string]any, error) {
	if path == "/apikeys" {
		if _, exists := s.usage[in.Value]; exists || len(in.Value) < 20 {
			return nil, refusal{"ConflictException"}
		}
		id := fmt.Sprintf("key%d", len(s.byID))
		s.byID[id], s.usage[in.Value] = in.Value, ""
		return map[string]any{"id": id, "value": in.Value}, nil
	}
	plan, ok := strings.CutPrefix(path, "/usageplans/")
	plan, keys := strings.CutSuffix(plan, "/keys")
	value, known := s.byID[in.KeyID]
	if !ok || !keys || !known {
		return nil, refusal{"NotFoundException"}
	}
	s.usage[value] = plan
	return map[string]any{"id": in.KeyID}, nil
}
