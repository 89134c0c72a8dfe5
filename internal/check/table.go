// Package check tests tables of benchmark results for consistency: whether the figures of one row, and those of one column, can
// all be true at once. It knows columns by their names, whoever wrote the table.
package check

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
)

// Table is a table of results as it was written.
type Table struct {
	Columns []string
	Rows    []Row
	comma   bool // 0,5 is a half
}

// Row is one line of a table.
type Row struct {
	Line  int // of a CSV file; of JSON its number, from 1
	Name  string
	Cells []string
}

// MaxBytes is the size of the largest file that is read.
const MaxBytes = 64 << 20

// errEmpty: there is no row to check.
var errEmpty = errors.New("there is no row of results in it: a CSV with a header line or JSON with an array of objects is needed")

// Read reads a table: CSV with a header line (comma, semicolon, tab or | between the cells), JSON (an array of objects, an object
// that holds one, or the report of a run), or an object on each line. Names of nested JSON fields are joined by dots.
func Read(data []byte) (*Table, error) {
	data = bytes.TrimSpace(bytes.TrimPrefix(data, []byte("\xef\xbb\xbf")))
	var t *Table
	var err error
	switch {
	case len(data) == 0:
		return nil, errEmpty
	case data[0] == '{' || data[0] == '[':
		t, err = readJSON(data)
	default:
		t, err = readCSV(data)
	}
	if err != nil {
		return nil, err
	}
	if len(t.Rows) == 0 {
		return nil, errEmpty
	}
	for i := range t.Rows {
		t.Rows[i].Name = t.nameOf(t.Rows[i].Cells)
	}
	return t, nil
}

func readCSV(data []byte) (*Table, error) {
	first, _, _ := bytes.Cut(data, []byte("\n"))
	delimiter := delimiterOf(string(first))
	r := csv.NewReader(bytes.NewReader(data))
	r.Comma, r.FieldsPerRecord, r.LazyQuotes, r.TrimLeadingSpace, r.Comment = delimiter, -1, true, delimiter != '\t', '#'
	t := &Table{comma: delimiter == ';'}
	for {
		record, err := r.Read()
		if errors.Is(err, io.EOF) {
			return t, nil
		}
		if err != nil {
			return nil, err
		}
		for i := range record {
			record[i] = strings.TrimSpace(record[i])
		}
		if t.Columns == nil {
			t.Columns = record
			continue
		}
		line, _ := r.FieldPos(0)
		t.Rows = append(t.Rows, Row{Line: line, Cells: record})
	}
}

// delimiterOf is the one that cuts the header into the most cells.
func delimiterOf(header string) rune {
	best, most := ',', 0
	for _, d := range ",;\t|" {
		if n := strings.Count(header, string(d)); n > most {
			best, most = d, n
		}
	}
	return best
}

// readJSON makes a row of each object of the first array of objects.
func readJSON(data []byte) (*Table, error) {
	var rows []any
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	for {
		var v any
		err := d.Decode(&v)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, fmt.Errorf("JSON, at byte %d: %w", d.InputOffset(), err)
		}
		rows = append(rows, v)
	}
	if len(rows) == 1 {
		rows = objects(rows[0])
	}
	t := &Table{}
	index := map[string]int{}
	for _, v := range rows {
		object, ok := v.(map[string]any)
		if !ok {
			continue
		}
		t.Rows = append(t.Rows, Row{Line: len(t.Rows) + 1, Cells: t.flatten(index, object)})
	}
	for i := range t.Rows {
		for len(t.Rows[i].Cells) < len(t.Columns) {
			t.Rows[i].Cells = append(t.Rows[i].Cells, "")
		}
	}
	return t, nil
}

// objects are the elements of the array that v is or holds; v itself if it holds none.
func objects(v any) []any {
	switch v := v.(type) {
	case []any:
		return v
	case map[string]any:
		for _, name := range []string{"trials", "results", "rows", "data"} {
			if list, ok := v[name].([]any); ok && len(list) > 0 {
				return list
			}
		}
		for _, name := range sorted(v) {
			if list, ok := v[name].([]any); ok && len(list) > 0 {
				if _, ok := list[0].(map[string]any); ok {
					return list
				}
			}
		}
	}
	return []any{v}
}

// flatten returns the cells of an object, and adds the columns it is the first to have.
func (t *Table) flatten(index map[string]int, object map[string]any) (cells []string) {
	var walk func(prefix string, v any)
	walk = func(prefix string, v any) {
		text := ""
		switch v := v.(type) {
		case map[string]any:
			for _, name := range sorted(v) {
				walk(strings.TrimPrefix(prefix+"."+name, "."), v[name])
			}
			return
		case string:
			text = v
		case json.Number:
			text = v.String()
		case bool:
			text = strconv.FormatBool(v)
		default:
			return // null, and lists: no figure of this row
		}
		i, known := index[prefix]
		if !known {
			i = len(t.Columns)
			index[prefix] = i
			t.Columns = append(t.Columns, prefix)
		}
		for len(cells) <= i {
			cells = append(cells, "")
		}
		cells[i] = text
	}
	walk("", object)
	return cells
}
