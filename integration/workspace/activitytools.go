package workspace

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/caddy-mcp-app/caddy-mcp-app/integration/workspace/store"
)

var (
	contentMembers = []property{{"text", anyText}, {"hashtags", texts}}
	schemaContent  = object(contentMembers)

	schemaActivity = object([]property{
		{"id", anyText},
		{"revision", one("integer", "The revision of all activities when this one changed last")},
		{"proposal", string(object(append([]property{
			{"connectionId", anyText}, {"replyTo?", anyText}, {"note?", anyText},
		}, contentMembers...)))},
		{"decision?", string(object([]property{
			{"verdict", fmt.Sprintf(`{"type":"string","enum":[%q,%q,%q]}`, store.Accepted, store.Rejected, store.Edited)},
			{"content?", string(schemaContent)},
			{"by", anyText},
			{"at", one("string", "RFC 3339")},
		}))},
		{"effective?", string(schemaContent)},
	})
	schemaContext = object([]property{
		{"revision", one("integer", "The revision to expect when publishing")},
		{"activities", array(schemaActivity, "")},
		{"unknown?", texts},
		{"nextCursor?", anyText},
	})

	inActivityID = `{"type":"string","description":"Id of an activity, chosen by whoever publishes it first","pattern":"` + store.ActivityIDRule + `"}`

	schemaQuestion = object([]property{
		{"activityIds?", array(json.RawMessage(inActivityID), fmt.Sprintf(`,"maxItems":%d`, store.MaxIDs))},
		{"cursor?", text("The nextCursor of the page before", 0, 512)},
		{"limit?", fmt.Sprintf(`{"type":"integer","description":"How many activities, 20 if absent","minimum":1,"maximum":%d}`, store.MaxPage)},
	})
	schemaPublication = object([]property{
		{"requestId", text("An id of your own for this publication; the same again returns the same receipt", 1, store.MaxRequestID)},
		{"expectedRevision", `{"type":"integer","description":"The revision that get_activity_context gave","minimum":0}`},
		{"activities", array(object([]property{
			{"activityId", inActivityID},
			{"connectionId", inConnectionID},
			{"text", text("What would be posted", 1, store.MaxText)},
			{"hashtags?", inHashtags},
			{"replyTo?", text("Id of the post that it answers", 0, 64)},
			{"note?", text("Why, for the person who decides", 0, store.MaxNote)},
		}), fmt.Sprintf(`,"minItems":1,"maxItems":%d`, store.MaxPublished))},
	})
	schemaReceipt = object([]property{
		{"requestId", anyText}, {"revision", anyNumber}, {"created", texts}, {"updated", texts}, {"unchanged", texts},
	})
	schemaDeed = object([]property{
		{"activityId", inActivityID},
		{"expectedRevision", `{"type":"integer","description":"The revision of the activity as the person saw it","minimum":1}`},
		{"action", fmt.Sprintf(`{"type":"string","enum":[%q,%q,%q,%q]}`, store.Accept, store.Reject, store.Edit, store.Reopen)},
		{"text?", text("With edit: what to post instead", 1, store.MaxText)},
		{"hashtags?", inHashtags},
	})
	schemaOneActivity = object([]property{{"activity", string(schemaActivity)}})
)

type activityResult struct {
	Activity store.Activity `json:"activity"`
}

func (s *Server) addActivityTools() {
	add(s, "GET /api/activities", &mcp.Tool{
		Name:  "get_activity_context",
		Title: "Read activities",
		Description: "Returns proposed activities with what people decided on them, what is in effect, and the revision to expect " +
			"when publishing. Without activityIds all of them, page by page.",
		Annotations:  readOnly(),
		InputSchema:  schemaQuestion,
		OutputSchema: schemaContext,
	}, s.store.Activities)

	add(s, "POST /api/activities", &mcp.Tool{
		Name:  "publish_activities",
		Title: "Publish activities",
		Description: "Proposes activities, new ones or other content for those there are, all or none. Decisions of people stay. " +
			"The same request again returns the first receipt. If the activities changed since you read them, the error " +
			"stale_revision says so and nothing happens.",
		Annotations:  &mcp.ToolAnnotations{IdempotentHint: true, DestructiveHint: new(false), OpenWorldHint: new(false)},
		InputSchema:  schemaPublication,
		OutputSchema: schemaReceipt,
	}, s.store.Publish)

	// A decision is a person's. So the tool is for the page where that person
	// presses a button, and models do not see it.
	add(s, "POST /api/activities/{activityId}/decision", &mcp.Tool{
		Meta:         mcp.Meta{"ui": map[string]any{"visibility": []string{"app"}}},
		Name:         "decide_activity",
		Title:        "Decide on an activity",
		Description:  "Keeps what the person who looks at the page decided on a proposal.",
		Annotations:  writing(),
		InputSchema:  schemaDeed,
		OutputSchema: schemaOneActivity,
	}, func(ctx context.Context, who store.Caller, in store.Deed) (activityResult, error) {
		a, err := s.store.Decide(ctx, who, in)

		return activityResult{a}, err
	})
}
