// Package docs holds the documents of the repository to what the code does:
// every Caddyfile in them is formatted and valid, every link leads somewhere,
// and the reference names exactly what the parser knows. It has tests only.
package docs
