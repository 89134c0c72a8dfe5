package explain

import (
	"flag"
	"fmt"
	"go/ast"
	"os"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/mqlab/mqlab/internal/scenario"
)

var update = flag.Bool("update", false, "write texts/keys.txt anew")

// TestKeys: the keys of scenarios are explained by the comments of package scenario.
func TestKeys(t *testing.T) {
	k := keys{comments: map[string]string{}}
	for _, f := range parse(t, "../scenario/*.go") {
		ast.Inspect(f, k.collect)
	}
	k.walk(reflect.ValueOf(scenario.Scenario{Settings: scenario.Defaults(), Repeat: scenario.DefaultRepeat}), "")
	for _, key := range k.undocumented {
		t.Errorf("%s has no comment", key)
	}
	const file = "texts/keys.txt"
	if *update {
		if err := os.WriteFile(file, []byte(k.text.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(file)
	if err != nil || string(got) != k.text.String() {
		t.Errorf("%s is not what package scenario says (%v): go test ./internal/explain -update", file, err)
	}
}

// keys turns comments on fields into texts.
type keys struct {
	comments     map[string]string // by type and field: Load.Rate
	text         strings.Builder
	undocumented []string
}

func (k *keys) collect(n ast.Node) bool {
	spec, ok := n.(*ast.TypeSpec)
	if !ok {
		return true
	}
	s, ok := spec.Type.(*ast.StructType)
	if !ok {
		return false
	}
	for _, f := range s.Fields.List {
		for _, name := range f.Names {
			k.comments[spec.Name.Name+"."+name.Name] = strings.Join(strings.Fields(f.Doc.Text()), " ")
		}
	}
	return false
}

func (k *keys) walk(v reflect.Value, prefix string) {
	for i := range v.NumField() {
		f := v.Type().Field(i)
		name := f.Tag.Get("yaml")
		switch name {
		case "", "-":
			continue
		case ",inline":
			k.walk(v.Field(i), prefix)
			continue
		}
		comment := k.comments[v.Type().Name()+"."+f.Name]
		if comment == "" {
			k.undocumented = append(k.undocumented, prefix+name)
		}
		if rest, ok := strings.CutPrefix(comment, f.Name+" "); ok {
			comment = name + " " + rest
		}
		fmt.Fprintf(&k.text, "%s: %s%s\n", prefix+name, comment, byDefault(v.Field(i)))
		k.below(v.Field(i), prefix+name+".")
	}
}

// below goes on with the keys below a key, if it has any.
func (k *keys) below(v reflect.Value, prefix string) {
	if v.Kind() == reflect.Slice && v.Type().Elem().Kind() == reflect.Struct {
		v = reflect.Zero(v.Type().Elem())
	}
	if v.Kind() == reflect.Struct {
		k.walk(v, prefix)
	}
}

func byDefault(v reflect.Value) string {
	text := ""
	switch x := v.Interface().(type) {
	case scenario.Rate:
		switch {
		case x.Max:
			text = "max"
		case x.PerSecond > 0:
			text = fmt.Sprintf("%v/s", x.PerSecond)
		}
	case scenario.Size:
		if x > 0 {
			text = fmt.Sprintf("%d bytes", x)
		}
	case time.Duration:
		if x > 0 {
			text = x.String()
		}
	default:
		if k := v.Kind(); !v.IsZero() && (k == reflect.String || k == reflect.Int || k == reflect.Bool) {
			text = fmt.Sprint(x)
		}
	}
	if text == "" {
		return ""
	}
	return " By default " + text + "."
}
