// An extender that lets every node pass, in Go's standard library alone: what bayplan's extender is measured beside.
//
// Nodes stay as they came (json.RawMessage), so nothing is read that is not needed: a Go extender that looks at its nodes,
// as most do through k8s.io/api, takes longer. Built by tools/extender/build, started by bench/extender.py.
package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"log"
	"net"
	"net/http"
)

type nodeList struct {
	Metadata json.RawMessage   `json:"metadata,omitempty"`
	Items    []json.RawMessage `json:"items"`
}

type arguments struct {
	Pod       json.RawMessage
	Nodes     *nodeList
	NodeNames *[]string
}

type filterAnswer struct {
	Nodes                      *nodeList
	NodeNames                  *[]string
	FailedNodes                map[string]string
	FailedAndUnresolvableNodes map[string]string
	Error                      string
}

func main() {
	address := flag.String("bind", "127.0.0.1:0", "where to listen")
	flag.Parse()
	http.HandleFunc("/filter", func(w http.ResponseWriter, r *http.Request) {
		var args arguments
		if err := json.NewDecoder(r.Body).Decode(&args); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		answer := filterAnswer{Nodes: args.Nodes, NodeNames: args.NodeNames}
		w.Header().Set("Content-Type", "application/json")
		if err := json.NewEncoder(w).Encode(answer); err != nil {
			log.Print(err)
		}
	})
	listener, err := net.Listen("tcp", *address)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(listener.Addr().(*net.TCPAddr).Port)
	log.Fatal(http.Serve(listener, nil))
}
