package queuetest_test

import (
	"testing"
	"time"

	"github.com/parley-api/parley/webhook/dispatch/queuetest"
)

func TestMemory(t *testing.T) {
	still := func() time.Time { return time.Unix(1_800_000_000, 0) }
	queuetest.Run(t, func(t *testing.T) queuetest.Table { return queuetest.NewMemory(still) })
}
