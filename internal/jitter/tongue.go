package jitter

import (
	"fmt"

	"github.com/mqlab/mqlab/internal/diagnose"
)

// tongue is the language of a report, one of diagnose.Languages. Field terms, names of columns and the texts of reasons stay as they are.
type tongue string

// word is a phrase of English in the language.
func (t tongue) word(english string) string {
	if text, ok := chinese[english]; ok && t == "zh" {
		return text
	}
	return english
}

// say fills in what a phrase has room for.
func (t tongue) say(english string, args ...any) string { return fmt.Sprintf(t.word(english), args...) }

// plural counts cases or rounds.
func (t tongue) plural(n int, word string) string {
	if t != "zh" {
		return plural(n, word)
	}
	return thousands(n) + map[string]string{"case": " 个用例", "round": " 轮"}[word]
}

// cause is a finding in one sentence.
func (t tongue) cause(f *diagnose.Finding, said diagnose.Text) string {
	if f.Share > 0 {
		return t.say("%s of the excess latency: %s", percent(f.Share), said.What)
	}
	return said.What
}

// cellsOf is how many columns of a terminal a phrase takes: characters of Chinese take two.
func cellsOf(text string) (n int) {
	for _, r := range text {
		if n++; r >= 0x2e80 {
			n++
		}
	}
	return n
}

// chinese are the phrases of reports.
var chinese = map[string]string{
	"Not measured: %s: %s": "未测量：%s：%s",
	"Not measured":         "未测量",
	"How to repeat it":     "如何重复",
	"Jitter of publishing clients: %s, %s of %s messages, one every %v, %d bytes, QoS %d, broker %s; where a case differs it says so.": "发布客户端的抖动：%s，%s，每轮 %s 条消息，每 %v 一条，%d 字节，QoS %d，代理 %s；用例有不同之处时另行说明。",
	"Topics %s and %s; echo %s.": "主题 %s 和 %s；回显：%s。",
	"here":                       "本机",
	"elsewhere":                  "他处",
	"Round trip: from the call that publishes to the callback":                                                                              "往返时间：从发布调用到回调",
	"Response: from when a message was due, which the client itself may miss":                                                               "响应时间：从消息应发的时刻算起，客户端自己可能错过它",
	" A p99 needs 1,000 messages.":                                                                                                          "p99 需要 1,000 条消息。",
	"late: answered after the next message was due. sd: standard deviation; it and the mean are of the messages that came.":                 "late：在下一条消息应发之后才得到回答。sd：标准差；它和 mean（均值）只统计到达的消息。",
	"Where response is more than twice the round trip the client did not keep its schedule: it waited in its own loop before it published.": "响应时间超过往返时间两倍之处，客户端没有守住发送计划：它在发布之前在自己的循环里等待。",
	"failed":                       "失败",
	"trial %d":                     "试验 %d",
	"cause":                        "原因",
	"change":                       "改法",
	"verify":                       "验证",
	"modes":                        "峰",
	"rhythm":                       "节律",
	"burst":                        "突发",
	"host":                         "主机",
	"strays":                       "杂散",
	"over time":                    "随时间",
	"histogram":                    "直方图",
	"warning":                      "警告",
	"invalid":                      "无效",
	"%s of the excess latency: %s": "占超额延迟的 %s：%s",
	"%s of the excess latency stays unexplained.":                                                           "超额延迟的 %s 没有得到解释。",
	"Cannot be decided by this measurement, in some case or all: %s (mqlab diagnose says what each needs).": "这次测量（在部分或全部用例中）无法判定：%s（mqlab diagnose 会说明各自需要什么）。",
	"%s; p50 %s, p99 %s, max %s, lost %s; %s":                                                               "%s；p50 %s，p99 %s，最大 %s，丢失 %s；%s",
	"%d: %s":     "%d 个：%s",
	"one, at %s": "一个，在 %s",
	"a probe beside the client, 50 times a second: p50 %s, p99 %s, max %s; %d of %s above %s": "客户端旁的探针，每秒 50 次：p50 %s，p99 %s，最大 %s；%d / %s 次超过 %s",
	"%d answers came twice, %d out of order, %d to no message of ours":                        "%d 个回答到了两次，%d 个次序颠倒，%d 个不属于我们的消息",
	"none at %d lags; each message is like the one before it by %s (chance stays below %.2f)": "在 %d 个间隔上都没有；每条消息与前一条的相似度为 %s（偶然值低于 %.2f）",
	"%s (%d messages) alike by %s":                                "%s（%d 条消息）相似度 %s",
	"after %s; chance stays below %.2f":                           "周期 %s；偶然值低于 %.2f",
	"%d at once after %s":                                         "在 %[2]s 之后一次 %[1]d 条",
	", %d lost":                                                   "，丢失 %d 条",
	", the slowest took %s":                                       "，最慢的用了 %s",
	"; not as before until the end":                               "；直到结束都没有恢复",
	"; as before (up to %s) after %s":                             "；在 %[2]s 之后恢复如前（不超过 %[1]s）",
	"%s; ▁ is %s, █ is %s":                                        "%s；▁ 为 %s，█ 为 %s",
	" %d of %s gave no valid result.":                             "%[2]s中有 %[1]d 个没有给出有效结果。",
	"No case gave a valid result.":                                "没有用例给出有效结果。",
	"%s: standard deviation %s; cause: %s.":                       "%s：标准差 %s；原因：%s。",
	"Least jitter: %s, standard deviation %s; most: %s, %s (%s).": "抖动最小：%s，标准差 %s；最大：%s，%s（%s）。",
	"Round trip":                                                  "往返时间",
	"round trip":                                                  "往返时间",
	"Response":                                                    "响应时间",
	"From the call that publishes to the callback. Mean and standard deviation are of the messages that came.":      "从发布调用到回调。均值和标准差只统计到达的消息。",
	"From when a message was due, which the client itself may miss; late: answered after the next message was due.": "从消息应发的时刻算起，客户端自己可能错过它；late：在下一条消息应发之后才得到回答。",
	"Change: %s":               "改法：%s",
	"Verify: %s":               "验证：%s",
	"Round trip over time: %s": "往返时间随时间的变化：%s",
	"Least, median and longest round trip over time, their histogram, modes, and when causes were at work.": "最短、中位和最长往返时间随时间的变化，它们的直方图和峰，以及各原因起作用的时段。",
	"Round trip over time, and how often": "往返时间随时间的变化，以及出现的次数",
	"Rhythm of %s":                        "%s 的节律",
	"Autocorrelation of round trips; between the dashed lines is chance.":        "往返时间的自相关；虚线之间属于偶然。",
	"How alike messages are to those before: between the dashed lines is chance": "消息与之前的消息有多相似：虚线之间属于偶然",
}
