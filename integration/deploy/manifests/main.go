// Command manifests decodes Kubernetes manifests strictly, as the API server
// does: an unknown field or a wrong type is an error.
//
//	kustomize build deploy/kubernetes/base | go -C integration/deploy/manifests run .
package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/runtime/serializer/json"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/kubernetes/scheme"
)

// foreign are kinds of other projects, whose fields are not known here.
var foreign = []string{"PodMonitor"}

func main() {
	count, err := check(os.Stdin)
	if err != nil {
		fmt.Fprintln(os.Stderr, "manifests:", err)
		os.Exit(1)
	}
	fmt.Println(count, "manifests are well formed")
}

func check(r io.Reader) (count int, err error) {
	decoder := serializer.NewCodecFactory(scheme.Scheme, serializer.EnableStrict).UniversalDeserializer()
	documents := yaml.NewYAMLReader(bufio.NewReader(r))
	for {
		document, err := documents.Read()
		if errors.Is(err, io.EOF) {
			return count, nil
		}
		if err != nil {
			return count, fmt.Errorf("reading: %w", err)
		}
		if _, _, err = decoder.Decode(document, nil, nil); runtime.IsNotRegisteredError(err) && isForeign(document) {
			err = nil
		}
		if err != nil {
			return count, fmt.Errorf("%w in\n%s", err, document)
		}
		count++
	}
}

func isForeign(document []byte) bool {
	text, err := yaml.ToJSON(document)
	if err != nil {
		return false
	}
	kind, err := json.DefaultMetaFactory.Interpret(text)
	return err == nil && slices.Contains(foreign, kind.Kind)
}
