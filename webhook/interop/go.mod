module github.com/parley-api/parley/webhook/interop

go 1.26.0

require (
	github.com/parley-api/parley v0.0.0
	github.com/standard-webhooks/standard-webhooks/libraries v0.0.2-0.20260828204510-a7d19b4574ae
)

replace github.com/parley-api/parley => ../..
