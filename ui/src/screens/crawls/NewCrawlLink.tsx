import { Link } from "react-router";
import { buttonClass } from "../../look/Button";

export function NewCrawlLink() {
  return (
    <Link to="/crawls/new" className={buttonClass("primary")}>
      New crawl
    </Link>
  );
}
