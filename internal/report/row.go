package report

import (
	"encoding/csv"
	"fmt"
	"io"
	"strconv"
	"time"
)

// Row is a line of CSV: what its cells are called, and what is in them.
type Row struct{ names, values []string }

// Add adds a cell. Numbers are written in full, times as RFC 3339 has them; a nil pointer and the zero time are an empty cell.
func (r *Row) Add(name string, value any) {
	r.names = append(r.names, name)
	r.values = append(r.values, cell(value))
}

func cell(v any) string {
	switch v := v.(type) {
	case *uint64:
		if v != nil {
			return cell(*v)
		}
	case *int64:
		if v != nil {
			return cell(*v)
		}
	case *bool:
		if v != nil {
			return cell(*v)
		}
	case *float64:
		if v != nil {
			return cell(*v)
		}
	case float64:
		return strconv.FormatFloat(v, 'f', -1, 64)
	case time.Time:
		if !v.IsZero() {
			return v.Format(time.RFC3339Nano)
		}
	default:
		return fmt.Sprint(v)
	}
	return ""
}

// WriteRows writes the names of the cells of empty, a row of nothing known, and then n rows whose cells have those names.
func WriteRows(w io.Writer, empty *Row, n int, row func(i int) *Row) error {
	out := csv.NewWriter(w)
	_ = out.Write(empty.names) // the writer keeps its error
	for i := range n {
		_ = out.Write(row(i).values)
	}
	out.Flush()
	return out.Error()
}
