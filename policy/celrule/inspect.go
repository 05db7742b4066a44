package celrule

import (
	"fmt"
	"regexp/syntax"
	"slices"
	"strings"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/checker"
	"cel.dev/cel-go/common"
	"cel.dev/cel-go/common/ast"
	"cel.dev/cel-go/common/operators"
	"cel.dev/cel-go/common/types"
)

// Reads says what a condition looks at beyond the caller. Whatever it reads,
// its result cannot be kept for a request where that differs.
type Reads struct {
	Method, Name, Arguments, Annotations, Headers, ClientIP bool
	// HeaderNames are the headers named outright, in lower case, sorted.
	HeaderNames []string
}

func readsOf(checked *cel.Ast) Reads {
	var r Reads
	for _, reference := range checked.NativeRep().ReferenceMap() {
		switch reference.Name {
		case varMethod:
			r.Method = true
		case varName:
			r.Name = true
		case varArguments:
			r.Arguments = true
		case varAnnotations:
			r.Annotations = true
		case varHeaders:
			r.Headers = true
		case varClientIP:
			r.ClientIP = true
		}
	}
	visit(checked, func(e ast.Expr) {
		if name, ok := headerName(e); ok {
			r.HeaderNames = append(r.HeaderNames, name)
		}
	})
	slices.Sort(r.HeaderNames)
	r.HeaderNames = slices.Compact(r.HeaderNames)
	return r
}

// inspect finds what the type checker lets pass and what can only be meant
// otherwise, or could be abused by a caller.
func inspect(checked *cel.Ast) []*common.Error {
	var problems []*common.Error
	report := func(e ast.Expr, message string) {
		location := checked.NativeRep().SourceInfo().GetStartLocation(e.ID())
		problems = append(problems, &common.Error{ExprID: e.ID(), Location: location, Message: message})
	}
	visit(checked, func(e ast.Expr) {
		if name, ok := headerName(e); ok && name != strings.ToLower(name) {
			report(e, "header names are in lower case: write "+strings.ToLower(name))
		}
		// A pattern that comes with the request would be compiled for its sender.
		if e.Kind() == ast.CallKind && e.AsCall().FunctionName() == "matches" {
			args := e.AsCall().Args()
			pattern, ok := literal(args[len(args)-1])
			if !ok {
				report(e, "the pattern of matches() must be written out")
			} else if err := checkPattern(pattern); err != nil {
				report(e, err.Error())
			}
		}
	})
	return problems
}

// headerName returns the header that e names: request.headers.x,
// request.headers["x"] or "x" in request.headers.
func headerName(e ast.Expr) (string, bool) {
	headers := func(e ast.Expr) bool { return e.Kind() == ast.IdentKind && e.AsIdent() == varHeaders }
	switch e.Kind() {
	case ast.SelectKind:
		return e.AsSelect().FieldName(), headers(e.AsSelect().Operand())
	case ast.CallKind:
		call := e.AsCall()
		args := call.Args()
		switch {
		case call.FunctionName() == operators.Index && headers(args[0]):
			return literal(args[1])
		case call.FunctionName() == operators.In && headers(args[1]):
			return literal(args[0])
		}
	}
	return "", false
}

// checkPattern bounds a regular expression. (cel.RegexProgramSizeLimit panics on
// patterns with counted repetitions.)
func checkPattern(pattern string) error {
	parsed, err := syntax.Parse(pattern, syntax.Perl)
	if err != nil {
		return err
	}
	program, err := syntax.Compile(parsed.Simplify())
	if err != nil {
		return err
	}
	if size := len(program.Inst); size > maxRegexProgram {
		return fmt.Errorf("the pattern has a program size of %d, more than %d; shorten its repetitions", size, maxRegexProgram)
	}
	return nil
}

func literal(e ast.Expr) (string, bool) {
	if e.Kind() != ast.LiteralKind {
		return "", false
	}
	text, ok := e.AsLiteral().(types.String)
	return string(text), ok
}

func visit(checked *cel.Ast, f func(ast.Expr)) {
	ast.PostOrderVisit(checked.NativeRep().Expr(), ast.NewExprVisitor(f))
}

// What the estimate at load takes for the size of things it cannot know. Larger
// ones do occur, and are met by the bound at run time.
const (
	plausibleEntries = 40
	plausibleLength  = 256
)

type plausibleSizes struct{}

// EstimateSize implements checker.CostEstimator.
func (plausibleSizes) EstimateSize(element checker.AstNode) *checker.SizeEstimate {
	size := checker.SizeEstimate{Max: plausibleEntries}
	if kind := element.Type().Kind(); kind == types.StringKind || kind == types.BytesKind {
		size.Max = plausibleLength
	}
	return &size
}

// EstimateCallCost implements checker.CostEstimator.
func (plausibleSizes) EstimateCallCost(string, string, *checker.AstNode, []checker.AstNode) *checker.CallEstimate {
	return nil
}
