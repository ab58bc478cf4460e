# Parley. Needs Go; whatever else a target needs it fetches itself.
#
#   make run [ARGS=…]    build and run `parley serve`
#   make build           build bin/parley
#   make test [ARGS=…]   every test, on real servers; ARGS go to `go test`
#   make lint            gofmt, vet, staticcheck, file sizes, go.mod
#   make lint-openapi    the served OpenAPI description, by two linters
#   make bench           Parley's own figures
#   make bench-peers     the same work done by other projects
#   make bench-bytes     what serving files and ranges costs, beside others
#   make bench-webhooks  how fast events reach their consumers

# Without a usable git checkout the binary is built without its revision.
VCS := $(shell git rev-parse HEAD >/dev/null 2>&1 || echo -buildvcs=false)
ARGS ?=

.PHONY: build run test lint lint-openapi bench bench-peers bench-bytes bench-webhooks clean

build:
	@CGO_ENABLED=0 go build $(VCS) -o bin/parley ./cmd/parley

run: build
	@exec bin/parley serve $(ARGS)

test:
	@scripts/test $(ARGS)

lint:
	@scripts/lint

lint-openapi: build
	@scripts/lint-openapi bin/parley

bench:
	@go run ./bench $(ARGS)

bench-peers:
	@cd bench/peers && go run . $(ARGS)

bench-bytes:
	@go run ./bench/bytes $(ARGS)

bench-webhooks:
	@go run ./bench/webhooks $(ARGS)

clean:
	rm -rf bin
