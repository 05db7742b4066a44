package celrule

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common"
	"cel.dev/cel-go/common/types"
)

const (
	// MaxLength bounds an expression, in bytes. A reviewer has to read it.
	MaxLength = 4096
	// MaxCost bounds an evaluation, in the units of CEL's cost model; looking at
	// one entry of a list takes about five. The estimate at load is held to it
	// too. It is low because the accounting of cel-go itself takes time in the
	// square of a loop's rounds: this many units take some 30 milliseconds at
	// worst, ten times as many would take seconds.
	MaxCost = 20_000
	// maxRegexProgram bounds the compiled form of a pattern in matches(), and
	// with it the time per character of text.
	maxRegexProgram = 256
	// maxCached bounds the cache of compiled expressions.
	maxCached = 1024
)

// Expression is a compiled condition; immutable and safe for concurrent use.
type Expression struct {
	text    string
	program cel.Program
	reads   Reads
}

// Compile checks text and makes it ready. Errors name line and column.
// Compiling the same text again is cheap, since reading a configuration does
// so several times.
func Compile(text string) (*Expression, error) {
	if cached, ok := compiled.Load(text); ok {
		return cached.(*Expression), nil
	}
	e, err := compile(text)
	if err != nil {
		return nil, err
	}
	if compiledCount.Add(1) <= maxCached {
		compiled.Store(text, e)
	}
	return e, nil
}

// String returns the expression as written.
func (e *Expression) String() string { return e.text }

// Reads says what of the request the result depends on.
func (e *Expression) Reads() Reads { return e.reads }

// Eval reports whether the condition is met, and what finding out has cost. On
// an error the condition counts as not met; the text is for logs.
func (e *Expression) Eval(in Input) (met bool, cost uint64, err error) {
	out, details, err := e.program.Eval(&activation{in: in})
	if details != nil && details.ActualCost() != nil {
		cost = *details.ActualCost()
	}
	if err != nil {
		// Whatever broke off the evaluation, it may have been expensive.
		return false, max(cost, 1), fmt.Errorf("evaluating `%s`: %w", e.text, err)
	}
	return out == types.True, cost, nil
}

var (
	compiled      sync.Map // text to *Expression
	compiledCount atomic.Int64
)

func compile(text string) (*Expression, error) {
	switch {
	case strings.TrimSpace(text) == "":
		return nil, errors.New("the expression is empty")
	case len(text) > MaxLength:
		return nil, fmt.Errorf("the expression is longer than %d bytes", MaxLength)
	}
	env, err := environment()
	if err != nil {
		return nil, err
	}
	checked, issues := env.Compile(text)
	if err := issues.Err(); err != nil {
		return nil, positioned(issues.Errors())
	}
	if got := checked.OutputType(); !got.IsExactType(cel.BoolType) {
		return nil, fmt.Errorf("the expression gives %s, not bool; compare it with something, such as … == true", cel.FormatCELType(got))
	}
	if problems := inspect(checked); len(problems) > 0 {
		return nil, positioned(problems)
	}
	estimate, err := env.EstimateCost(checked, plausibleSizes{})
	if err != nil {
		return nil, fmt.Errorf("estimating the cost: %w", err)
	}
	if estimate.Max > MaxCost {
		return nil, fmt.Errorf("the expression can cost %d units, more than %d, for lists of %d entries; use fewer loops inside loops", estimate.Max, MaxCost, plausibleEntries)
	}
	program, err := env.Program(checked, cel.CostLimit(MaxCost), cel.EvalOptions(cel.OptOptimize))
	if err != nil {
		return nil, fmt.Errorf("preparing the expression: %w", err)
	}
	return &Expression{text, program, readsOf(checked)}, nil
}

// positioned joins CEL's complaints, each with its place, one a line.
func positioned(problems []*common.Error) error {
	errs := make([]error, 0, len(problems))
	for _, p := range problems {
		errs = append(errs, fmt.Errorf("line %d, column %d: %s%s", p.Location.Line(), p.Location.Column()+1, p.Message, hint(p.Message)))
	}
	return errors.Join(errs...)
}

// hint adds what to write instead of a field that does not exist.
func hint(message string) string {
	for _, object := range []string{"principal", "request"} {
		if strings.Contains(message, "undeclared reference to '"+object+"'") {
			return "; it has only the fields " + strings.Join(fieldsOf(object), ", ")
		}
	}
	return ""
}
