package state_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/caddy-mcp-app/caddy-mcp-app/policy/state/statetest"
)

type pemPair struct{ cert, key []byte }

// certificateFor makes a certificate that is its own root.
func certificateFor(t *testing.T, ip string) (pemPair, *x509.CertPool) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
		IPAddresses: []net.IP{net.ParseIP(ip)},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	pair := pemPair{
		cert: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}),
		key:  pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private}),
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(pair.cert)

	return pair, roots
}

func writeFile(t *testing.T, path string, content []byte) {
	t.Helper()
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatal(err)
	}
}

// command asks the server itself.
func command(t *testing.T, server *statetest.Redis, args ...any) any {
	t.Helper()
	options, err := redis.ParseURL(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	client := redis.NewClient(options)
	defer func() { _ = client.Close() }()
	answer, err := client.Do(t.Context(), args...).Result()
	if err != nil {
		t.Fatal(err)
	}

	return answer
}

func keysOf(t *testing.T, server *statetest.Redis) []string {
	t.Helper()
	var keys []string
	for _, key := range command(t, server, "KEYS", "*").([]any) {
		keys = append(keys, key.(string))
	}
	if len(keys) == 0 {
		t.Fatal("the server holds nothing")
	}

	return keys
}
