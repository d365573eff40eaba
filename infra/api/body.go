package api

import (
	"net/http"
	"strings"

	"orgops/shared/web"
)

// object is a JSON object of the API's description.
type object = map[string]any

// describe returns the API as an OpenAPI document with the gateway's extensions: every route with its authorizer and its function, and the
// gateway's own answers. One resource of the stack holds the document, where a resource for each path and method would be
// most of CloudFormation's limit of 500. The document is written in OpenAPI 3.0, because the gateway imports no later version. It has
// no schemas: the functions validate.
//
// An import names an existing API or none, so a document that changes never changes the API's id. The settings of the API that
// a document can hold are in the document too, because the import overwrites them.
// https://docs.aws.amazon.com/apigateway/latest/developerguide/api-gateway-swagger-extensions.html
func describe(name string, groups []Group, origins web.Origins) object {
	paths := object{}
	for _, g := range groups {
		integration := invoke(g.Name)
		for _, r := range g.Routes {
			item, ok := paths[r.Path].(object)
			if !ok {
				item = object{anyMethod: object{"responses": object{}, "x-amazon-apigateway-integration": integration}}
				paths[r.Path] = item
			}
			item[strings.ToLower(r.Method)] = operation(r, integration)
			if r.Method == http.MethodGet && r.Guarded { // the gateway does not answer HEAD by itself; a public one goes by ANY
				item["head"] = operation(r, integration)
			}
		}
	}
	return object{
		"openapi":                            "3.0.1",
		"info":                               object{"title": name, "description": about, "version": "1"},
		"paths":                              paths,
		"components":                         object{"securitySchemes": object{tokens: tokenScheme(), usageKey: object{"type": "apiKey", "name": "x-api-key", "in": "header"}}},
		"x-amazon-apigateway-api-key-source": keySource,
		"x-amazon-apigateway-minimum-compression-size": compressed,
		"x-amazon-apigateway-endpoint-configuration":   object{"types": []string{"REGIONAL"}},
		"x-amazon-apigateway-gateway-responses":        responses(origins),
	}
}

// anyMethod sends all other methods of a path to the function as well. The function answers OPTIONS, which browsers send
// without a token, with the allowed methods, and other requests with 405 and Allow. The method needs no authorizer: the
// function guards its operations itself.
const anyMethod = "x-amazon-apigateway-any-method"

// The names of the security schemes. The gateway takes a scheme whose header is x-api-key as its requirement of a usage key.
// AWS's own transform lists an authorizer and a key as two requirements, and both apply.
const (
	tokens   = "tokens"
	usageKey = "usageKey"
)

// operation returns a registered operation's method.
func operation(r Route, integration object) object {
	o := object{"operationId": r.Operation, "responses": object{}, "x-amazon-apigateway-integration": integration}
	if r.Guarded {
		o["security"] = []object{{tokens: []string{}}, {usageKey: []string{}}}
	}
	return o
}

// tokenPattern lets the gateway refuse malformed bearer tokens without calling the authorizer (RFC 6750 §2.1).
const tokenPattern = "^[Bb][Ee][Aa][Rr][Ee][Rr] +[A-Za-z0-9._~+/-]+=*$"

// tokenTTL is how long the gateway keeps an answer of the authorizer, in seconds. The functions check the token's expiry again.
const tokenTTL = 300

func tokenScheme() object {
	return object{
		"type": "apiKey", "name": "Authorization", "in": "header", "x-amazon-apigateway-authtype": "custom",
		"x-amazon-apigateway-authorizer": object{
			"type": "token", "authorizerUri": uri(authorizerName), "identityValidationExpression": tokenPattern,
			"authorizerResultTtlInSeconds": tokenTTL,
		},
	}
}

// invoke returns the integration that calls a function.
func invoke(function string) object {
	return object{"type": "aws_proxy", "httpMethod": http.MethodPost, "uri": uri(function), "timeoutInMillis": gatewayTimeout * 1000}
}

// uri returns the address of a function's invocations. A variable of the stage holds the function's name. The document cannot
// refer to the functions, because their settings refer to the API. So the document also stays as it is when a function is replaced.
// https://docs.aws.amazon.com/apigateway/latest/developerguide/aws-api-gateway-stage-variables-reference.html
func uri(function string) object {
	partition, region, account := object{"Ref": "AWS::Partition"}, object{"Ref": "AWS::Region"}, object{"Ref": "AWS::AccountId"}
	return object{"Fn::Join": []any{"", []any{
		"arn:", partition, ":apigateway:", region, ":lambda:path/2015-03-31/functions/arn:", partition, ":lambda:", region, ":", account,
		":function:${stageVariables." + variable(function) + "}/invocations",
	}}}
}

// variable returns the name of the stage variable with a function's name. It may hold letters, digits and underscores.
func variable(function string) string { return strings.ReplaceAll(function, "-", "_") }
