// Package opener holds no code of its own: its tests open deep links in a real
// browser, through the gateway, as readers of a mail would.
package opener
