// An extender that does nothing, to measure ours beside: see main.go.
module bayplan.io/tools/extender

go 1.22
