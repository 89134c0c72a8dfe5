GO       ?= go
BIN      := bin/mqlab
FUZZTIME ?= 10s
export CGO_ENABLED ?= 0

.PHONY: build demo test race lint bench peers causes fuzz brokers agents all-brokers clean

build: ## build the one static binary
	$(GO) build -trimpath -o $(BIN) ./cmd/mqlab

demo: build ## compare the embedded brokers and whatever is installed; under two minutes
	$(BIN) run

test: brokers agents ## install what the tests need, then test
	$(GO) test ./...

race: brokers agents ## the tests again under the race detector (needs a C compiler)
	CGO_ENABLED=1 $(GO) test -race $(RACEFLAGS) ./...

lint: ## what must be clean before a commit
	$(GO) vet ./...
	$(GO) tool staticcheck ./...
	@test -z "$$($(GO) tool gofumpt -l .)" || { echo "gofumpt: not formatted:"; $(GO) tool gofumpt -l .; exit 1; }
	$(GO) mod tidy -diff
	GOOS=darwin $(GO) vet ./...
	GOOS=windows $(GO) vet ./...

bench: build ## paired ratios against other clients and plain C; takes minutes, wants an idle machine
	$(GO) run ./bench

peers: ## the same work by mqlab and by other load generators that are installed; takes minutes
	$(GO) run ./bench/peers

causes: ## every cause of jitter made to happen, and named; twelve minutes, wants an idle machine
	$(GO) run ./bench/causes

fuzz: ## every fuzz target for FUZZTIME
	scripts/fuzz $(FUZZTIME)

brokers: ## the brokers that Debian packages
	scripts/install-test-brokers

agents: ## the client libraries that mqlab compares, where packages have them
	-scripts/agents

all-brokers: brokers ## and those that come from other registries (Java, Python), into a cache
	scripts/brokers

clean:
	rm -rf bin
