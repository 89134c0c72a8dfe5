package probe

import "context"

func prepareAMQP(ctx context.Context, l *lab, r *Report) ([]step, error) { return nil, nil }
