package prototest_test

import (
	"errors"

	"github.com/mqlab/mqlab/internal/proto/resp"
)

func isServerError(err error) bool {
	var refused *resp.ServerError
	return errors.As(err, &refused)
}
