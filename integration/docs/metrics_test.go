package docs

import (
	"encoding/json"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var (
	metricSource = regexp.MustCompile(`(?s)Namespace: "caddy", Subsystem: "mcp_app", Name: "(\w+)".*?\n\t}(?:, \[\]string\{)?([^)}]*)\}?\)`)
	metricName   = regexp.MustCompile(`caddy_mcp_app_\w+`)
	metricLabel  = regexp.MustCompile(`(?:by|on) \(([^)]*)\)|[{,]\s*(\w+)\s*(?:=~|!=|=)`)
	quoted       = regexp.MustCompile(`"(\w+)"`)
)

// metricsOfTheModule are its metrics with their labels.
func metricsOfTheModule(t *testing.T) map[string][]string {
	t.Helper()
	found := make(map[string][]string)
	sources(t, "caddymodule", func(text string) {
		for _, match := range metricSource.FindAllStringSubmatch(text, -1) {
			labels := []string{}
			for _, label := range quoted.FindAllStringSubmatch(match[2], -1) {
				labels = append(labels, label[1])
			}
			found["caddy_mcp_app_"+match[1]] = labels
		}
	})
	if len(found) < 20 {
		t.Fatalf("only %d metrics are found in the source", len(found))
	}
	return found
}

// TestMetricsAreDocumented compares the metrics of the module and their labels
// with docs/metrics.md and the README.
func TestMetricsAreDocumented(t *testing.T) {
	metrics := metricsOfTheModule(t)
	named := make(map[string]bool)
	for line := range strings.SplitSeq(read(t, "docs/metrics.md"), "\n") {
		if name := metricName.FindString(line); name != "" && strings.HasPrefix(line, "| `"+name+"`") {
			named[name] = true
			for _, label := range metrics[name] {
				if !strings.Contains(line, "`"+label+"`") {
					t.Errorf("docs/metrics.md: %s has the label %s", name, label)
				}
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(metrics)) {
		if !named[name] {
			t.Errorf("docs/metrics.md does not explain %s", name)
		}
	}
	for name := range named {
		if metrics[name] == nil {
			t.Errorf("docs/metrics.md explains %s, which is no metric", name)
		}
	}
	for line := range strings.SplitSeq(read(t, "README.md"), "\n") {
		name := metricName.FindString(line)
		if columns := strings.Split(line, "|"); name != "" && len(columns) > 4 {
			labels := []string{}
			for _, span := range regexp.MustCompile("`(\\w+)`").FindAllStringSubmatch(columns[3], -1) {
				if span[1] != "other" {
					labels = append(labels, span[1])
				}
			}
			if !slices.Equal(labels, metrics[name]) {
				t.Errorf("README.md: %s has the labels %v, not %v", name, metrics[name], labels)
			}
		}
	}
}

// checkExpressions reports metrics and labels that there are not, and returns
// the metrics that are used.
func checkExpressions(t *testing.T, where string, expressions []string, metrics map[string][]string) map[string]bool {
	t.Helper()
	used := make(map[string]bool)
	for _, expression := range expressions {
		labels := []string{"le"}
		for _, name := range metricName.FindAllString(expression, -1) {
			if bare := strings.TrimSuffix(name, "_bucket"); metrics[name] == nil {
				name = bare
			}
			if metrics[name] == nil {
				t.Errorf("%s uses %s, which is no metric", where, name)
			}
			used[name] = true
			labels = append(labels, metrics[name]...)
		}
		for _, match := range metricLabel.FindAllStringSubmatch(expression, -1) {
			for label := range strings.SplitSeq(match[1]+match[2], ",") {
				if label = strings.TrimSpace(label); label != "" && !slices.Contains(labels, label) {
					t.Errorf("%s: no metric of %q has the label %s", where, expression, label)
				}
			}
		}
		if strings.Count(expression, "(") != strings.Count(expression, ")") {
			t.Errorf("%s: unbalanced: %s", where, expression)
		}
	}
	return used
}

func TestTheDashboardShowsMetricsThatThereAre(t *testing.T) {
	var dashboard struct {
		Panels []struct {
			Title   string
			Targets []struct{ Expr, LegendFormat string }
		}
	}
	if err := json.Unmarshal([]byte(read(t, "deploy/grafana/caddy-mcp-app.json")), &dashboard); err != nil {
		t.Fatal(err)
	}
	metrics := metricsOfTheModule(t)
	var expressions []string
	for _, panel := range dashboard.Panels {
		for _, target := range panel.Targets {
			expressions = append(expressions, target.Expr)
		}
	}
	used := checkExpressions(t, "the dashboard", expressions, metrics)
	for _, name := range slices.Sorted(maps.Keys(metrics)) {
		if !used[name] {
			t.Errorf("the dashboard does not show %s", name)
		}
	}
}

func TestAlertRulesAreAboutMetricsThatThereAre(t *testing.T) {
	const file = "deploy/prometheus/caddy-mcp-app.rules.yml"
	var expressions []string
	lines := strings.Split(read(t, file), "\n")
	alerts := 0
	for i, line := range lines {
		switch strings.TrimSpace(line) {
		case "expr: >-":
			expressions = append(expressions, strings.TrimSpace(lines[i+1]))
		default:
			if strings.Contains(line, "- alert: ") {
				alerts++
			}
		}
	}
	if alerts == 0 || len(expressions) != alerts {
		t.Fatalf("%d alerts with %d expressions", alerts, len(expressions))
	}
	checkExpressions(t, file, expressions, metricsOfTheModule(t))
}
