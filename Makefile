# The repository's tasks. Tools are installed under .tools, at the versions pinned here and in the package-lock.json,
# requirements.txt and (for Maven) .xml files next to the code that needs them. Nothing is installed elsewhere.

SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
MAKEFLAGS += --no-builtin-rules

GO ?= go
# Without the checkout's path and commit in what is built, another checkout finds it in Go's build cache. LINK sets the commit.
override export GOFLAGS := $(strip $(GOFLAGS) -trimpath -buildvcs=false)
PYTHON ?= python3
# Python keeps what it has compiled, in folders that git ignores. Images of containers turn that off; then each start of a tool compiles again.
unexport PYTHONDONTWRITEBYTECODE
FUZZTIME ?= 10s
PACKAGES ?= ./...

GOLANGCI_VERSION := v2.15.0
VALE_VERSION := v3.21.0
ACTIONLINT_VERSION := v1.7.12
GOLANGCI := .tools/golangci-lint-$(GOLANGCI_VERSION)/golangci-lint
VALE := .tools/vale-$(VALE_VERSION)/vale
ACTIONLINT := .tools/actionlint-$(ACTIONLINT_VERSION)/actionlint
NODE_STAMP := .tools/node/node_modules/.package-lock.json
PYTHON_STAMP := .tools/python/requirements.txt
CDK_STAMP := .tools/cdk/node_modules/.package-lock.json
CLIENTS_NODE_STAMP := .tools/clients-node/node_modules/.package-lock.json
MCP_STAMP := .tools/mcp/node_modules/.package-lock.json
BROWSER_STAMP := .tools/browser/node_modules/.package-lock.json
CDK_CLI := .tools/cdk/node_modules/.bin/cdk
TEMPLATES_STAMP := .tools/templates/requirements.txt
MOTO_STAMP := .tools/moto/requirements.txt
CLOUD_STAMP := .tools/cloud/requirements.txt
CLIENTS_PYTHON_STAMP := .tools/clients-python/requirements.txt
VENV_STAMPS := $(PYTHON_STAMP) $(TEMPLATES_STAMP) $(MOTO_STAMP) $(CLOUD_STAMP) $(CLIENTS_PYTHON_STAMP)
CLIENTS_GO := .tools/clients-go/oapi-codegen
JAVA_STAMPS := .tools/java/dynamodb-local/pom.xml .tools/java/elasticmq/pom.xml
POSTGRES_STAMP := .tools/postgresql/pom.xml
POSTGRES_PLATFORM := $(shell uname -sm | tr 'A-Z ' 'a-z-' | sed -e 's/x86_64/amd64/' -e 's/aarch64$$/arm64v8/' -e 's/arm64$$/arm64v8/')
CLIENTS_JAVA_STAMPS := .tools/clients-java/generator/pom.xml .tools/clients-java/runtime/pom.xml
ACCEPTANCE := local/suite/acceptance
CLIENTS := local/suite/clients
BROWSER := local/suite/browser

# LINK sets the commit that bin/orgops tells. Outside a git repository it sets none.
COMMIT := $(shell git describe --always --dirty --abbrev=40 --match= 2>/dev/null)
LINK := -ldflags '-X orgops/shared/base/version.commit=$(COMMIT)'

# help prints the ## comment of each target.
.PHONY: help
help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  %-14s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

.PHONY: run
run: ## serve the API on http://127.0.0.1:4000, data in ./data; the first start prints a session to paste (needs only Go)
	$(GO) build $(LINK) -o bin/orgops ./local
	exec bin/orgops

.PHONY: build
build: build-lambdas ## build the service into bin/orgops, and every Lambda function
	$(GO) build $(LINK) -o bin/orgops ./local

# The tag is set when everything is built. Two builds of a commit with the same Go give the same bytes.
.PHONY: release
release: ## VERSION=1.2.0: build archives, an OCI image, a bill of materials and checksums into dist/, and tag the commit
	@test -n "$(VERSION)" || { echo "give the version, as in: make release VERSION=1.2.0" >&2; exit 1; }
	@test -z "$$(git status --porcelain)" || { echo "commit or remove the changes first: a release is built from a commit" >&2; exit 1; }
	@grep -q '^## \[$(VERSION)\]' CHANGELOG.md || { echo "CHANGELOG.md has no section of $(VERSION); name its unreleased one so" >&2; exit 1; }
	@! git rev-parse --quiet --verify refs/tags/v$(VERSION) > /dev/null || { echo "the tag v$(VERSION) exists" >&2; exit 1; }
	$(GO) run ./local/command/release --version $(VERSION) --commit "$$(git rev-parse HEAD)" --out dist
	git tag --annotate --message "Release $(VERSION)" v$(VERSION)
	@echo "dist/ holds the release. Push the tag, and the image with: skopeo copy --all oci-archive:dist/orgops_image.tar docker://REGISTRY/orgops:$(VERSION)"

# Builds are reproducible with the same Go version, so a deployment updates only functions whose code has changed.
LAMBDA_OS ?= linux
LAMBDA_ARCH ?= arm64
LAMBDA_DIR ?= build
CDK_ARCH := $(patsubst amd64,x86_64,$(LAMBDA_ARCH))
.PHONY: build-lambdas
build-lambdas: ## build every Lambda function into build/<function>/bootstrap (LAMBDA_ARCH=amd64 for x86_64)
	@for main in functions/*/lambda; do \
		name=$$(basename "$$(dirname "$$main")"); \
		CGO_ENABLED=0 GOOS=$(LAMBDA_OS) GOARCH=$(LAMBDA_ARCH) $(GO) build -ldflags='-s -w' -tags lambda.norpc \
			-o "$(LAMBDA_DIR)/$$name/bootstrap" "./$$main"; \
	done

# go vet and the tests compile everything once, and the programs that tests start: without C, as a release is. CDK's tests need Node, so they are not among these.
.PHONY: check
check: export CGO_ENABLED := 0
check: formatted ## say in minutes, with Go alone, whether a change is sound: format, vet, and every test that needs no other tool
	$(GO) vet ./...
	$(GO) test -short -shuffle=on -vet=off $$($(GO) list ./... | grep -v '^orgops/infra')

.PHONY: formatted
formatted:
	@files=$$(git ls-files -z --cached --others --exclude-standard -- '*.go' | xargs -0 ls -d 2>/dev/null | xargs gofmt -l); \
	if [ -n "$$files" ]; then echo "not formatted (run: gofmt -w $$files)" >&2; exit 1; fi

# SQLite is C that a program has turned into Go. It locks its memory itself, in ways that the race detector does not know. Its
# instrumented form takes five times the CPU time of all other code of a test. Argon2 works on 19 MiB that no other goroutine sees, and
# the detector keeps a shadow of each byte: a test that logs in takes half its time. The arithmetic of RSA and Ed25519 is on the call's own
# numbers; the packages that take keys and messages are watched. No other package is left out.
UNCHECKED := $(foreach p,modernc.org/sqlite/lib golang.org/x/crypto/argon2 crypto/internal/fips140/bigmod crypto/internal/fips140/edwards25519/...,-gcflags='$(p)=-race=false')
# No debugger reads a test's binary. Without its tables a binary is linked in two thirds of the time; a report of the race detector is the same.
LINKED := -ldflags=-w
# The race detector needs C. What is tested without it is compiled without C, as are the programs that tests start, so that Go compiles a
# package in two forms instead of three.
# The tests wait half of their time, for emulators and for the processes that they start; so one package more than there are processors
# runs at a time.
AT_ONCE := $(shell expr $$(getconf _NPROCESSORS_ONLN) + 1)
.PHONY: test
test: needs lint tools ## check format, lint, and run every test including acceptance, with the race detector except where nothing runs at once
	@packages=$$($(GO) list $(PACKAGES)); \
	single='^orgops/(infra|local/measure/cost$$|shared/testkit/importtest$$|shared/provider/webfeed$$|shared/insight/(projection|assessment)$$|local/command/restore$$|local/suite/simulate$$)'; \
	alone=$$(grep -E "$$single" <<< "$$packages" || true); \
	others=$$(grep -vE "$$single" <<< "$$packages" || true); \
	set -x; \
	if [ -n "$$others" ]; then $(GO) test -race $(UNCHECKED) $(LINKED) -p $(AT_ONCE) -shuffle=on -vet=off -timeout 20m $$others; fi; \
	if [ -n "$$alone" ]; then CGO_ENABLED=0 $(GO) test $(LINKED) -shuffle=on -vet=off $$alone; fi # lint has run vet. These start no goroutines, measure what runs in turn, or let one call run at a time (simulate); the detector makes them up to 8 times slower, and watches the same code in the tests of the functions that use it. The CDK's own runtime has a data race at its end

# TARGET=deployed deploys the stack to an AWS emulator on this machine. It tests a running service instead if ORGOPS_URL is
# set. ORGOPS_URL is the API's address. ORGOPS_ADMIN is a command that prints {"companyId": …}. In its environment it gets
# NAME, EMAIL, PASSWORD and, for a member of a company, COMPANY; or COMPANY and the PLAN to move it to. If the service must reach this machine's receivers at a
# certain address, ORGOPS_RECEIVER_ADDR is the address to listen on and ORGOPS_RECEIVER_URL the URL to reach it.
.PHONY: blackbox
blackbox: tools ## compare every answer over HTTP with the golden files; TARGET=local, aws or deployed (default: all three; see the Makefile for a running service)
	$(GO) test ./local/suite/blackbox -count=1 -v -timeout 20m -target '$(TARGET)'

SEEDS ?= 2000
SEED ?= 1
FAULTS ?= default
.PHONY: simulate
simulate: ## run the workers in a simulated AWS for SEEDS (2000) seeds from SEED (1) on; FAULTS=killed,many allows these faults alone
	$(GO) test ./local/suite/simulate -count=1 -timeout 60m -run '^TestSimulate$$' -args -seeds '$(SEEDS)' -seed '$(SEED)' -faults '$(FAULTS)'

FOR ?= 30s
KILLS ?= 1000
FAULT ?=
.PHONY: soak
soak: tools ## break connections, the disk and the process of the real program, each for FOR (30s) or KILLS (1000) times, and print what was lost; FAULT="table reset" is one
	$(GO) test ./local/suite/soak -count=1 -v -timeout 3h -parallel 8 -run '^TestSoak$$' -args -all -for '$(FOR)' -kills '$(KILLS)' -fault '$(FAULT)'

.PHONY: lint
lint: formatted $(GOLANGCI) $(VALE) $(ACTIONLINT) ## check with gofmt, golangci-lint (which runs vet too), Vale and actionlint
	$(GOLANGCI) run $(PACKAGES)
	git ls-files -z --cached --others --exclude-standard -- '*.go' '*.md' | xargs -0 ls -d 2>/dev/null | xargs $(VALE) --output=line
	$(ACTIONLINT) -shellcheck= -pyflakes= .github/workflows/*.yml

.PHONY: tools
tools: needs $(GOLANGCI) $(VALE) $(ACTIONLINT) $(NODE_STAMP) $(CDK_STAMP) $(CLIENTS_NODE_STAMP) $(MCP_STAMP) $(BROWSER_STAMP) $(VENV_STAMPS) $(CLIENTS_GO) $(CLIENTS_JAVA_STAMPS) $(POSTGRES_STAMP) java ## install the pinned linters and test tools into .tools (make needs lists the requirements)

.PHONY: java
java: $(JAVA_STAMPS) ## download the AWS emulators of the tests: DynamoDB Local and ElasticMQ (needs Maven)

.PHONY: golden
golden: ## rewrite the golden files
	$(GO) test ./$(ACCEPTANCE) ./infra -run '^TestGolden' -count=1 -update
	$(GO) test ./local/measure/cost -run TestDocuments -count=1 -update
	$(GO) test ./local/suite/blackbox -count=1 -update

CONSOLE := functions/console/web
.PHONY: vendor-console
vendor-console: needs-node ## copy the console's libraries from npm, at the versions of its package-lock.json, and bundle it
	rm -rf .tools/console && mkdir -p .tools/console
	cp $(CONSOLE)/package.json $(CONSOLE)/package-lock.json $(ACCEPTANCE)/.npmrc .tools/console/
	cd .tools/console && npm ci --no-progress
	rm -f $(CONSOLE)/vendor/*
	@copy() { cp ".tools/console/node_modules/$$1/$$2" "$(CONSOLE)/vendor/$$3.mjs"; cp ".tools/console/node_modules/$$1/LICENSE" "$(CONSOLE)/vendor/$$(basename "$$1").LICENSE"; }; \
	copy preact dist/preact.mjs preact; copy preact hooks/dist/hooks.mjs hooks; copy htm dist/htm.mjs htm; copy lean-qr index.mjs lean-qr; \
	copy @preact/signals dist/signals.mjs signals; copy @preact/signals-core dist/signals-core.mjs signals-core
	$(GO) generate ./functions/console

.PHONY: screenshots
screenshots: $(BROWSER_STAMP) ## write pictures of the console's pages and of the mails into screenshots, and renew those of the README
	$(GO) test ./$(BROWSER) -count=1 -run '^(TestConsole|TestMails)$$' -args -pictures '$(CURDIR)/screenshots'
	mkdir -p $(BROWSER)/images
	cp screenshots/readme/*.png $(BROWSER)/images/

.PHONY: synth
synth: one-architecture $(CDK_STAMP) ## make the CloudFormation template in cdk.out from the built functions; CDK="-c tenant=NAME …" sets the context
	$(CDK_CLI) synth --quiet -c arch=$(CDK_ARCH) $(CDK)

# ACCOUNT compares the stack with the account. The program reads credentials from the environment alone, so a profile is exported.
# An alarm that reaches no person is noticed by the tenants first, so a deployment without a topic is a decision.
define ALARMS
@case '$(CDK)' in *alarmTopic=*) ;; *) grep -q '"alarmTopic"' cdk.json || { \
printf '%s' 'No topic gets the alarms: set CDK="-c alarmTopic=ARN" to an SNS topic, or CDK="-c alarmTopic=none". Deploy without? [y/N] '; \
read answer && [ "$$answer" = y ] || { echo 'not deployed'; exit 1; }; };; esac
endef
define ACCOUNT
@[ -n "$${AWS_ACCESS_KEY_ID:-}" ] || { keys=$$(aws configure export-credentials --format env) && eval "$$keys"; } || { echo "$$NO_ACCOUNT" >&2; exit 1; }; \
export AWS_REGION="$${AWS_REGION:-$${AWS_DEFAULT_REGION:-$$(aws configure get region)}}"; \
$(GO) run ./local/command/account --app cdk.out $(LIMITS)
endef

.PHONY: deploy
deploy: one-architecture region build-lambdas $(CDK_STAMP) ## build the functions, compare the stack with the account's limits and deploy it to AWS; CDK="-c tenant=NAME …" is passed on, LAMBDA_ARCH=amd64 is x86_64
	$(ALARMS)
	$(CDK_CLI) synth --quiet -c arch=$(CDK_ARCH) $(CDK)
	$(ACCOUNT)
	$(BOOTSTRAP)
	$(CDK_CLI) diff --app cdk.out $(CDK)
	$(CDK_CLI) deploy --app cdk.out $(CDK)

# BOOTSTRAP prepares the account and Region for the CDK, unless they are prepared. The parameter is what the CDK looks at.
define BOOTSTRAP
@answer=$$(aws ssm get-parameter --name /cdk-bootstrap/hnb659fds/version 2>&1) || case "$$answer" in \
*ParameterNotFound*) $(CDK_CLI) bootstrap --app cdk.out;; \
*) printf '%s\n%s\n' "$$answer" "$$NO_ACCOUNT" >&2; exit 1;; esac
endef

DIFF ?=
.PHONY: diff
diff: one-architecture region build-lambdas $(CDK_STAMP) ## show what make deploy would change; set CDK as for deploy, DIFF=--method=template needs the right to read alone
	$(CDK_CLI) synth --quiet -c arch=$(CDK_ARCH) $(CDK)
	$(CDK_CLI) diff --app cdk.out $(CDK) $(DIFF)

.PHONY: clean-failed
clean-failed: region ## remove the stack STACK (Orgops) after its first deployment has failed, with the empty tables and the keys that AWS keeps
	infra/clean-failed

.PHONY: destroy
destroy: one-architecture region build-lambdas $(CDK_STAMP) ## remove the stack from AWS, except its data and keys, which still cost; set CDK as for deploy, and end the termination protection first
	$(CDK_CLI) synth --quiet -c arch=$(CDK_ARCH) $(CDK)
	$(CDK_CLI) destroy --app cdk.out $(CDK)
	@echo "$$REMAINS"

export NO_ACCOUNT := The account is not ready; the lines above say what failed. To sign in, set AWS_PROFILE, or AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY (and AWS_SESSION_TOKEN).

define REMAINS
Once the stack is removed, these resources remain on purpose, and still cost:
  2 DynamoDB tables    items and backups, by the gigabyte
  2 or more KMS keys   1 USD a month each
  2 secrets            0.40 USD a month each
These remain for free: a usage key for each company of a paid plan, the role with which API Gateway logs, and the CDK's bootstrap stack.
infra/README.md says how to remove them ("Removing it"). Without its keys the data cannot be recovered.
endef
export REMAINS

# Without a region the CDK would use us-east-1.
.PHONY: region
region:
	@[ -n "$${AWS_REGION:-$${AWS_DEFAULT_REGION:-}}" ] || aws configure get region > /dev/null 2>&1 || \
		{ echo "no region: set AWS_REGION, such as AWS_REGION=eu-central-1" >&2; exit 1; }

.PHONY: one-architecture
one-architecture:
	@case '$(CDK)' in *arch=*) echo "CDK must not set arch; set LAMBDA_ARCH=arm64 or LAMBDA_ARCH=amd64, which applies to build and deployment" >&2; exit 1;; esac

.PHONY: emulate
emulate: $(CDK_STAMP) $(CLOUD_STAMP) .tools/java/dynamodb-local/pom.xml ## deploy the template to an AWS emulator on this machine, without Docker; prints how to use it, Ctrl-C stops it
	$(GO) build -o bin/emulate ./local/suite/cloud/emulate
	exec bin/emulate

# It takes half an hour, so make test leaves it out.
.PHONY: spread
spread: tools ## send WEBHOOKS (10,000) webhooks of one company over 8 sub-partitions to the emulated AWS, and compare with the local process
	$(GO) test ./local/suite/blackbox -count=1 -v -timeout 150m -run TestSpread -args -webhooks $(WEBHOOKS)

.PHONY: fuzz
fuzz: ## fuzz each parser of outside input for FUZZTIME (10s)
	@grep -rlE --include='*_test.go' '^func Fuzz' functions shared local | xargs -n1 dirname | sort -u | while read -r dir; do \
		grep -hoE '^func Fuzz[A-Za-z0-9_]+' "$$dir"/*_test.go | cut -d' ' -f2 | while read -r name; do \
			echo "== ./$$dir $$name"; \
			$(GO) test "./$$dir" -run '^$$' -fuzz "^$$name\$$" -fuzztime $(FUZZTIME) < /dev/null; \
		done; \
	done

.PHONY: bench
bench: ## run the Go benchmarks, then the load generator
	$(GO) test -run '^$$' -bench . -benchmem $(PACKAGES)
	$(GO) run ./local/measure/bench

# It takes some minutes, so make test opens the console of the local process alone.
.PHONY: console-deployed
console-deployed: tools ## deploy the stack to an AWS emulator on this machine, and do a founder's morning in its console, by pointer and by keyboard
	$(GO) test ./$(BROWSER) -count=1 -v -timeout 30m -run '^TestConsole_Deployed$$' -args -deployed

# bench-console wants a machine that does nothing else.
.PHONY: bench-console
bench-console: $(BROWSER_STAMP) ## measure the console with 10,000 deliveries: first paint, interactions, filter, heap; compare with the targets
	$(GO) test ./$(BROWSER) -count=1 -v -run '^TestConsole_Figures$$' -args -figures

# bench-cold needs only Linux and Go. LIMIT=2 makes it fail if a function's init takes more than twice the bare function's.
# ONLY=mcp,memory starts these two alone.
STARTS ?= 25
WEBHOOKS ?= 10000
LIMIT ?= 0
ONLY ?=
.PHONY: bench-cold
bench-cold: ## start every Lambda function STARTS (25) times and compare it with a bare one: init, first answer, memory, size
	$(GO) test ./shared/testkit/lambdatest -run '^$$' -bench '^BenchmarkColdStart$$' -benchtime $(STARTS)x -timeout 30m -args -limit=$(LIMIT) -only=$(ONLY)

.PHONY: clean
clean: ## remove build output and installed tools; keeps ./data
	rm -rf bin build cdk.out .tools

# needs checks that the machine has every program that the tests need. needs-node, needs-python and needs-java check some.
.PHONY: needs needs-node needs-python needs-java
needs: ## check that the machine has the programs that the tests need, and say how to get missing ones
needs: NEEDED := go gcc node npm python curl java javac mvn openssl
needs-node: NEEDED := go node npm
needs-python: NEEDED := python
needs-java: NEEDED := java mvn
needs needs-node needs-python needs-java:
	@missing=0; \
	tell() { echo "$$1" >&2; missing=1; }; \
	needed() { [[ ' $(NEEDED) ' == *" $$1 "* ]]; }; \
	need() { ! needed "$$1" || command -v "$$2" > /dev/null 2>&1 || tell "missing: $$2 ($$3)"; }; \
	need go $(GO) "Go 1.26: https://go.dev/dl"; \
	need gcc gcc "a C compiler for the race detector: apt-get install gcc, or xcode-select --install"; \
	need node node "Node 20 or newer: https://nodejs.org/en/download"; \
	need npm npm "comes with Node: https://nodejs.org/en/download"; \
	need python $(PYTHON) "Python 3.11 or newer with venv: https://www.python.org/downloads, or apt-get install python3 python3-venv"; \
	need curl curl "apt-get install curl, or brew install curl"; \
	need java java "Java 17 or newer: apt-get install openjdk-17-jdk-headless, or brew install openjdk"; \
	need javac javac "a JDK, not a JRE alone: apt-get install openjdk-17-jdk-headless, or brew install openjdk"; \
	need mvn mvn "Maven: apt-get install maven, or brew install maven"; \
	need openssl openssl "apt-get install openssl, or brew install openssl"; \
	if needed node && command -v node > /dev/null && ! node -e 'process.exit(Number(process.versions.node.split(".")[0]) < 20 ? 1 : 0)'; then \
		tell "node is $$(node --version): Node 20 or newer is needed (https://nodejs.org/en/download)"; fi; \
	if needed python && command -v $(PYTHON) > /dev/null && ! $(PYTHON) -c 'import sys, venv; sys.exit(sys.version_info < (3, 11))'; then \
		tell "$(PYTHON) is too old or has no venv: Python 3.11 or newer is needed; name another with PYTHON=…"; fi; \
	exit $$missing

$(GOLANGCI):
	@echo "building golangci-lint $(GOLANGCI_VERSION); this takes some minutes, once"
	GOBIN=$(CURDIR)/$(dir $@) $(GO) install github.com/golangci/golangci-lint/v2/cmd/golangci-lint@$(GOLANGCI_VERSION)

# Vale parses Go with a C library, so its build needs gcc and takes some minutes, once.
$(VALE):
	@echo "building vale $(VALE_VERSION); this takes some minutes, once"
	GOBIN=$(CURDIR)/$(dir $@) $(GO) install github.com/vale-cli/vale/v3/cmd/vale@$(VALE_VERSION)

$(ACTIONLINT):
	GOBIN=$(CURDIR)/$(dir $@) $(GO) install github.com/rhysd/actionlint/cmd/actionlint@$(ACTIONLINT_VERSION)

define NODE_MODULES
mkdir -p .tools/$(1)
cp $^ .tools/$(1)/
cd .tools/$(1) && npm ci --no-progress
touch $@
endef

$(NODE_STAMP): $(addprefix $(ACCEPTANCE)/,package.json package-lock.json .npmrc) | needs-node
	$(call NODE_MODULES,node)

$(CDK_STAMP): infra/package.json infra/package-lock.json $(ACCEPTANCE)/.npmrc | needs-node
	$(call NODE_MODULES,cdk)

$(CLIENTS_NODE_STAMP): $(addprefix $(CLIENTS)/typescript/,package.json package-lock.json) $(ACCEPTANCE)/.npmrc | needs-node
	$(call NODE_MODULES,clients-node)

$(MCP_STAMP): $(addprefix local/suite/mcp/,package.json package-lock.json) $(ACCEPTANCE)/.npmrc | needs-node
	$(call NODE_MODULES,mcp)

$(BROWSER_STAMP): $(addprefix $(BROWSER)/,package.json package-lock.json) $(ACCEPTANCE)/.npmrc | needs-node
	$(call NODE_MODULES,browser)

# Also downloads the modules that a generated client imports.
$(CLIENTS_GO): $(addprefix $(CLIENTS)/golang/,go.mod go.sum)
	cd $(<D) && $(GO) mod download && $(GO) build -o $(CURDIR)/$@ github.com/oapi-codegen/oapi-codegen/v2/cmd/oapi-codegen

$(PYTHON_STAMP): $(ACCEPTANCE)/requirements.txt
$(CLOUD_STAMP): local/suite/cloud/requirements.txt
$(TEMPLATES_STAMP): infra/requirements.txt
$(MOTO_STAMP): shared/testkit/awstest/requirements.txt
$(CLIENTS_PYTHON_STAMP): $(CLIENTS)/python/requirements.txt
$(VENV_STAMPS): | needs-python
	rm -rf $(@D)
	$(PYTHON) -m venv $(@D)
	$(@D)/bin/pip install --quiet --no-compile --disable-pip-version-check --no-deps --requirement $<
	$(@D)/bin/pip check
	cp $< $@

$(JAVA_STAMPS): .tools/java/%/pom.xml: shared/testkit/awstest/%.xml
$(CLIENTS_JAVA_STAMPS): .tools/clients-java/%/pom.xml: $(CLIENTS)/java/%.xml
$(JAVA_STAMPS) $(CLIENTS_JAVA_STAMPS): | needs-java
	rm -rf $(dir $@)
	mkdir -p $(dir $@)
	mvn --quiet --batch-mode --file $< dependency:copy-dependencies -DincludeScope=runtime -DoutputDirectory=$(CURDIR)/$(dir $@)
	cp $< $@

# The archive in the jar is unpacked by Python, because tar needs xz for it.
$(POSTGRES_STAMP): shared/testkit/postgrestest/pom.xml | needs-java needs-python
	rm -rf $(@D)
	mkdir -p $(@D)
	mvn --quiet --batch-mode --file $< dependency:copy-dependencies -Dplatform=$(POSTGRES_PLATFORM) -DincludeScope=runtime -DoutputDirectory=$(CURDIR)/$(@D)
	cd $(@D) && $(PYTHON) -m zipfile -e *.jar . && $(PYTHON) -m tarfile -e postgres-*.txz . && rm -rf *.jar *.txz META-INF
	cp $< $@
