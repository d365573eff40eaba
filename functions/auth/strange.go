package auth

import (
	"context"
	"strings"

	"orgops/shared/base/text"
	"orgops/shared/domain/company"
	"orgops/shared/domain/notice"
	"orgops/shared/domain/user"
	"orgops/shared/storage/store"
	"orgops/shared/web"
)

// come notes where a login comes from. If the network or the browser is new to the person, the writes of a notice come back,
// which the person gets by mail. changed reports whether the account is to be stored.
func (d Deps) come(ctx context.Context, a *company.Account, login user.Login) (told []store.Op, changed bool) {
	network, browser := web.Source(ctx), browserOf(web.Agent(ctx))
	changed, strange := a.Come(network, browser, d.Now())
	if strange {
		told = notice.SignedIn(login.CompanyID, login.UserID, network, browser, d.Now()).Create(store.For(d.Store, login.CompanyID))
	}
	return told, changed
}

// product finds the name of a program that is no known browser.
const product text.Pattern = `^[A-Za-z][A-Za-z-]{0,30}`

// browserOf names the browser and the system of a User-Agent, without versions, which change often. What a client writes is in none of
// the names but that of a program, which has letters only.
func browserOf(agent string) string {
	system := ""
	for _, s := range [][2]string{
		{"Windows", "Windows"}, {"Android", "Android"}, {"iPhone", "iPhone"}, {"iPad", "iPad"}, {"Mac OS X", "macOS"}, {"CrOS", "ChromeOS"}, {"Linux", "Linux"},
	} {
		if strings.Contains(agent, s[0]) {
			system = " on " + s[1]
			break
		}
	}
	for _, b := range [][2]string{{"Edg", "Edge"}, {"OPR/", "Opera"}, {"Firefox/", "Firefox"}, {"FxiOS/", "Firefox"}, {"CriOS/", "Chrome"}, {"Chrome/", "Chrome"}, {"Safari/", "Safari"}} {
		if strings.Contains(agent, b[0]) {
			return b[1] + system
		}
	}
	if name := product.Regexp().FindString(agent); name != "" {
		return "the program " + name + system
	}
	return "an unnamed program"
}
