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
	"orgops/shared/domain/company"
)

// CreateCompany asks the provisioner to create a company on the plan free. If password is empty, it generates a password and
// returns it. It does not return a given password.
func (s *Stack) CreateCompany(ctx context.Context, name, email, password string) (company.Provisioned, error) {
	var answer provisioner.Answer
	err := s.invoke(ctx, s.Outputs["ProvisionerName"], provisioner.Request{Name: name, Email: email, Password: password}, &answer)
	if err == nil && answer.Warning != "" {
		err = errors.New(answer.Warning)
	}
	return answer.Provisioned, err
}

// SetPlan asks the provisioner to move a company to a plan.
func (s *Stack) SetPlan(ctx context.Context, companyID, plan string) error {
	var answer json.RawMessage
	return s.invoke(ctx, s.Outputs["ProvisionerName"], provisioner.Request{Action: provisioner.Plan, CompanyID: companyID, Plan: plan}, &answer)
}

// invokeWithin bounds an invocation; no function runs longer.
const invokeWithin = 5 * time.Minute

// invoke invokes a function with in as its payload and reads its answer into out.
func (s *Stack) invoke(ctx context.Context, function string, in, out any) error {
	ctx, stop := context.WithTimeout(ctx, invokeWithin)
	defer stop()
	payload, err := json.Marshal(in)
	if err != nil {
		return err
	}
	// The emulator checks no signatures, so this one call does not need Lambda's client.
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
