package docs

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// reports are public reports of what went wrong in other gateways and in Caddy,
// by repository and number, and the tests that show that it cannot go wrong
// here.
var reports = map[string]string{
	// Filtering.
	"toolhive 5257":                  "TestServerAnswersOddly TestWhatAClientCouldTakeForAListIsFilteredOrWithheld",
	"toolhive 6217, 6216":            "TestAHiddenToolIsNotRun TestWhatIsHiddenIsAnsweredAsUnknown",
	"toolhive 3406, 3168":            "TestMethodsNobodyHasThoughtAboutAreUnknown",
	"toolhive 1188":                  "TestAResumedStreamIsFilteredToo TestWhatAClientCouldTakeForAListIsFilteredOrWithheld",
	"Kuadrant 1082":                  "TestForgedIdentityHeadersNeverArrive TestACatalogThatCannotBeTrustedIsNone TestACatalogOverTheLimitWithholdsWhatDependsOnIt",
	"ai-gateway 2105":                "TestToolListsHoldExactlyWhatTheCallerMayUse",
	"litellm 15078":                  "TestEveryMistakeIsNamedWithItsLineAndTheFix TestToolListsHoldExactlyWhatTheCallerMayUse",
	"keboola 504":                    "TestEverySpellingOfAnIdentityHeaderIsRemoved TestServerVerifiesTheAssertion",
	"agentgateway 721":               "TestAToolMayAskForMoreScopes TestMethodRulesAreForWhatMustBeHarder",
	"Kong 3.13 release note":         "TestNobodyGetsInWithoutAToken TestADisguisedEndpointNeverReachesTheNextHandlerUnchecked",
	"toolhive 5745, mcp-gateway 100": "TestAmbiguousMessagesAreRefused TestReadRefusesAmbiguity",
	"toolhive 4129":                  "TestAnnotationsAreTheServersAndCautious",
	// Paging.
	"agentgateway 3476":         "TestPagesReachEveryVisibleTool",
	"gofastr 295":               "TestPagesThatBecomeEmptyAreReadOn TestCursorsTellNothingAndServeTheirCallerOnly",
	"openai-agents-python 4085": "TestPagesReachEveryVisibleTool TestPagesThatBecomeEmptyAreReadOn",
	// Sessions.
	"agentgateway 754, 573, 221": "TestReplicasTakeEachOthersSessions TestSessionsStayOnTheServerWhereTheyBegan",
	"ai-gateway 1958":            "TestModernRequestsHaveNoSession TestTheServerHearsTheRevisionOfEachRequest",
	"ai-gateway 1560":            "TestASessionWorksForItsCallerOnly",
	"Kuadrant 270, 1096":         "TestASessionThatHasEndedIsNotFound",
	"mcp-context-forge 2055":     "TestASessionWorksForItsCallerOnly TestCallersAtTheSameTimeDoNotMix",
	"mcp-gateway-registry 960":   "TestReplicasTakeEachOthersSessions",
	// Streams.
	"caddy 6293, 7905":                    "TestHeadersOfAStreamLeaveAtOnce TestStreamsLeaveAtOnceAmongOtherHandlers",
	"exomem 205":                          "TestHeadersOfAStreamLeaveAtOnce",
	"nutrition-mcp 31, prompts.chat 1117": "TestAServerWithoutAStreamSaysSo",
	"caddy2-cn-doc 7":                     "TestHeadersOfAStreamLeaveAtOnce",
	"sub2api 4757":                        "TestHeadersOfAStreamLeaveAtOnce TestACompressedAnswerIsWithheldInMiddlewareToo",
	// Revisions and mirrored headers.
	"agentgateway 3439": "TestMirroredHeadersMeanNothingInOldRevisions TestMirroredHeadersMustAgreeWithTheBody",
	"agentgateway 2948": "TestTheServerHearsTheRevisionOfEachRequest",
	"toolhive 1568":     "TestTheServerHearsTheRevisionOfEachRequest",
	"AISVS 823":         "TestMirroredHeadersMeanNothingInOldRevisions TestHeaderValuesSurviveTheSentinel TestSchemasThatCannotBeCheckedSaySo",
	// Origins.
	"ai-gateway 2307":        "TestOneListOfOriginsDrivesPreflightAndRequest",
	"docker mcp-gateway 544": "TestOneListOfOriginsDrivesPreflightAndRequest",
	"toolhive 1811":          "TestTheServersOwnPolicyHeadersDoNotLeak",
	"routecraft 320, 332":    "TestPagesCanReadEveryAnswer",
	"backstage 35791":        "TestOnlyNamedOriginsMayCall TestOnlyNamedHostsAreServed TestPreflightAllowsWhatClientsSend",
	// Payloads.
	"agentgateway 3578":        "TestABodyOverTheLimitIsTooLarge",
	"Kuadrant 802, 1278, 1514": "TestLargeCallsAndRepliesKeepTheirBytes TestAnAnswerOverTheLimitIsWithheldAndItsSourceStopped",
	"codebase-memory-mcp 1375": "TestEveryLimitOfAnswersIsNamedInItsError",
	// Caddy.
	"caddy 4247":                "TestHeadersOfAStreamLeaveAtOnce",
	"caddy 7159":                "TestHeadersOfAStreamLeaveAtOnce TestStreamsLeaveAtOnceAmongOtherHandlers",
	"durable-streams 252":       "TestStreamsLeaveAtOnceAmongOtherHandlers",
	"coraza-caddy 263":          "TestEventsArriveWhenTheyAreSent",
	"caddy 6144":                "TestAFlushDoesNotCommitABufferedAnswer",
	"caddy 677, 1355":           "TestHeadersOfAStreamLeaveAtOnce TestEncodeCompressesWhatTheGatewayWrote",
	"caddy 3556, 3606":          "TestHTTP2IsServedTheSame TestTheServerMaySpeakHTTP2",
	"caddy 5951, 7845":          "TestAStreamThatBreaksOffIsCutBetweenEvents TestAnAbortedStreamBreaksTheConnection TestAnAnswerThatBreaksOffIsABadGateway",
	"caddy 3236":                "TestTrailersArrive TestTrailersSayNothingThatHeadersMayNot TestTheServerMaySpeakHTTP2",
	"caddy 6546, 5022":          "TestCopiedAnswersAreRewritten",
	"caddy 5059, 5849":          "TestAnswersWithoutABodyStayWithoutOne TestHEADIsNoMethodOfTheEndpoint",
	"caddy 3818, 4495, 3540":    "TestAReloadEndsOpenStreamsCleanly",
	"caddy 5471, 5567, 3143":    "TestAReloadEndsOpenStreamsCleanly TestAStreamMayOutliveAReload",
	"caddy 8009, mercure 986":   "TestAStopEndsOpenStreamsWithoutAGracePeriod",
	"cobalt 63":                 "TestAKeptConnectionFollowsTheReload",
	"caddy-ratelimit 100, 101":  "TestMetricsGoOnOverReloads",
	"caddy 5496, 7051, 6820":    "TestMetricsGoOnOverReloads",
	"coraza 76, 252, souin 722": "TestManyReloadsLeaveNothingBehind",
}

func TestEveryReportHasItsTest(t *testing.T) {
	function := regexp.MustCompile(`(?m)^func (Test\w+)\(`)
	written := map[string]bool{}
	err := filepath.WalkDir(filepath.Join("..", ".."), func(path string, entry os.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && entry.Name() == "node_modules":
			return filepath.SkipDir
		case entry.IsDir() || !strings.HasSuffix(path, "_test.go"):
			return nil
		}
		text, err := os.ReadFile(path)
		for _, found := range function.FindAllSubmatch(text, -1) {
			written[string(found[1])] = true
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for report, names := range reports {
		for name := range strings.FieldsSeq(names) {
			if !written[name] {
				t.Errorf("%s: there is no %s", report, name)
			}
		}
	}
}
