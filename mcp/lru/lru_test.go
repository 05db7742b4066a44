package lru

import (
	"testing"
	"testing/synctest"
	"time"
)

func TestTheLeastRecentlyUsedGoesFirst(t *testing.T) {
	c := New[string, int](2, 0)
	c.Put("a", 1)
	c.Put("b", 2)
	c.Get("a")
	c.Put("c", 3)
	if _, ok := c.Get("b"); ok {
		t.Error("b is kept although a was used after it")
	}
	for key, want := range map[string]int{"a": 1, "c": 3} {
		if got, ok := c.Get(key); !ok || got != want {
			t.Errorf("%s: %d, %v", key, got, ok)
		}
	}
	c.Put("a", 4)
	if got, _ := c.Get("a"); got != 4 {
		t.Errorf("a: %d, want the newer value", got)
	}
	c.Delete("a")
	c.Delete("nothing")
	if _, ok := c.Get("a"); ok {
		t.Error("a is kept although it was deleted")
	}
	c.Clear()
	if _, ok := c.Get("c"); ok {
		t.Error("c is kept although everything was forgotten")
	}
}

func TestValuesExpire(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := New[string, int](2, time.Minute)
		forGood := New[string, int](2, 0)
		c.Put("a", 1)
		forGood.Put("a", 1)
		time.Sleep(time.Minute)
		if _, ok := c.Get("a"); !ok {
			t.Error("gone within the time")
		}
		time.Sleep(time.Second)
		if _, ok := c.Get("a"); ok {
			t.Error("kept after the time")
		}
		if _, ok := forGood.Get("a"); !ok {
			t.Error("gone without a time")
		}
	})
}
