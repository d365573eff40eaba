package cloud

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"orgops/functions/provisioner"
)

// Company is a company with its first founder, whose password is the given one or a new one.
type Company struct {
	CompanyID, UserID, Email, Password string
}

// CreateCompany has the provisioner create a company on the plan free. An empty password asks for a new one.
func (s *Stack) CreateCompany(ctx context.Context, name, email, password string) (Company, error) {
	var answer provisioner.Answer
	err := s.invoke(ctx, s.Outputs["ProvisionerName"], provisioner.Request{Name: name, Email: email, Password: password}, &answer)
	if err == nil && answer.Warning != "" {
		err = errors.New(answer.Warning)
	}
	if answer.Password != "" {
		password = answer.Password
	}
	return Company{CompanyID: answer.CompanyID, UserID: answer.UserID, Email: email, Password: password}, err
}

// invokeWithin bounds an invocation: no function runs longer.
const invokeWithin = 5 * time.Minute

// invoke invokes a function with in as its payload and reads its answer into out.
func (s *Stack) invoke(ctx context.Context, function string, in, out any) error {
	ctx, stop := context.WithTimeout(ctx, invokeWithin)
	defer stop()
	payload, err := json.Marshal(in)
	if err != nil {
		return err
	}
	// The emulator asks nobody for a signature, so Lambda's client is not needed for this one call.
	address := s.Endpoint + "/2015-03-31/functions/" + function + "/invocations"
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, address, bytes.NewReader(payload))
	if err != nil {
		return err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	answer, err := io.ReadAll(response.Body)
	if err != nil {
		return err
	}
	if response.StatusCode != http.StatusOK || response.Header.Get("X-Amz-Function-Error") != "" {
		return fmt.Errorf("%s: %s: %s", function, response.Status, answer)
	}
	return json.Unmarshal(answer, out)
}
