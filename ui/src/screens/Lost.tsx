import { isRouteErrorResponse, Link, useRouteError } from "react-router";
import { asProblem } from "../api/problem";
import { Page } from "../look/Page";
import { Empty, Failure } from "../look/States";

/** Shown for an unknown address, or when a view broke. */
export function Lost() {
  const error = useRouteError();
  if (error && !isRouteErrorResponse(error)) {
    return (
      <Page title="This view broke">
        <Failure error={asProblem(error)} what="It is our fault" retry={() => window.location.reload()} />
      </Page>
    );
  }
  return (
    <Page title="Nothing here">
      <Empty title="There is no view at this address.">
        <Link to="/crawls" className="link">
          All crawls
        </Link>
      </Empty>
    </Page>
  );
}
