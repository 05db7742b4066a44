package mcp_test

import (
	"fmt"
	"net/http"

	"github.com/caddy-mcp-app/caddy-mcp-app/mcp"
)

// A request is read once, strictly: what is decided about is what the server
// will read.
func ExampleReader_Read() {
	var reader mcp.Reader
	request, err := reader.Read(http.Header{}, []byte(`{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"list_decks","arguments":{}}}`))
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(request.Era, request.Method, request.Name, string(request.ID))

	_, err = reader.Read(http.Header{}, []byte(`{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"list_decks","Name":"delete_deck"}}`))
	fmt.Println(err != nil)
	// Output:
	// legacy tools/call list_decks 7
	// true
}
