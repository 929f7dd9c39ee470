/** The records of the API under the names that the screens use. */
import type { components } from "./schema";

type Schemas = components["schemas"];

export type Crawl = Schemas["CrawlView"];
export type CrawlDetail = Schemas["CrawlDetail"];
export type Progress = Schemas["ProgressView"];
export type CrawlState = Schemas["CrawlState"];
export type UrlState = Schemas["UrlState"];
export type UrlRow = Schemas["UrlView"];
export type UrlDetail = Schemas["UrlDetail"];
export type CrawlHistory = Schemas["HistoryView"];
export type Comparison = Schemas["ComparisonView"];
export type Difference = Schemas["DifferenceView"];
export type Change = Schemas["Change"];
export type Sitemap = Schemas["SitemapFiguresView"];
export type ListedPage = Schemas["ListedPageView"];
export type ListedPages = Schemas["ListedPageList"];
export type Explanation = Schemas["ExplanationView"];
export type Page = Schemas["PageView"];
export type SearchResult = Schemas["ResultView"];
export type SearchResults = Schemas["ResultList"];
export type GraphNode = Schemas["NodeView"];
export type Queue = Schemas["QueueView"];
export type HostQueue = Schemas["HostQueueView"];
export type HostFacts = Schemas["HostFactsView"];
export type HostClock = Schemas["ClockView"];
export type HostRule = Schemas["HostRuleView"];
export type Worker = Schemas["WorkerView"];
export type Block = Schemas["BlockView"];
export type ErrorNote = Schemas["ErrorView"];
export type Token = Schemas["TokenView"];
export type CrawlSetting = Schemas["CrawlSetting"];
export type Settings = Schemas["SettingsView"];
export type Statistics = Schemas["StatisticsView"];
export type Overview = Schemas["OverviewView"];
export type Me = Schemas["CallerView"];
export type Access = Schemas["Access"];
