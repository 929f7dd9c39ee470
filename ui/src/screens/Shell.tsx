import { Suspense, useCallback, useState } from "react";
import { NavLink, Outlet, useNavigate } from "react-router";
import { useConnection } from "../api/connection";
import { KeyHelp } from "../keys/KeyHelp";
import { useKeys } from "../keys/keys";
import { useNow } from "../look/Moment";
import { Notice } from "../look/Notice";
import { Loading } from "../look/States";
import { setTheme, useTheme } from "../look/theme";
import { duration } from "../words/format";
import { TokenDialog } from "./TokenDialog";

const NOUNS = [
  { to: "/crawls", text: "Crawls" },
  { to: "/search", text: "Search" },
  { to: "/hosts", text: "Hosts" },
  { to: "/workers", text: "Workers" },
  { to: "/admin", text: "Admin" },
];

const RAIL_ITEM = "rounded px-2 py-1.5 text-left text-dim hover:bg-hover hover:text-text";

/** The rail with the nouns, what is true of the whole page, and the screen. */
export function Shell() {
  const navigate = useNavigate();
  const [helping, setHelping] = useState(false);
  const { lostAt, needsToken } = useConnection();
  useKeys(
    useCallback((to: string) => navigate(to), [navigate]),
    useCallback(() => setHelping(true), []),
  );
  return (
    <div className="flex min-h-dvh flex-col md:flex-row">
      <a href="#main" className="sr-only focus:not-sr-only focus:absolute focus:z-50 focus:bg-raised focus:p-2">
        Skip to content
      </a>
      <Rail onHelp={() => setHelping(true)} />
      <div className="flex min-w-0 flex-1 flex-col">
        {lostAt !== null && <Lost since={lostAt} />}
        <main id="main" tabIndex={-1} className="min-w-0 flex-1 outline-none">
          <Suspense fallback={<Loading what="the screen" />}>
            <Outlet />
          </Suspense>
        </main>
      </div>
      {helping && <KeyHelp onClose={() => setHelping(false)} />}
      {needsToken && <TokenDialog />}
      <Notice />
    </div>
  );
}

function Rail({ onHelp }: { onHelp: () => void }) {
  const theme = useTheme();
  const other = theme === "dark" ? "light" : "dark";
  return (
    <header className="flex shrink-0 items-center gap-1 overflow-x-auto border-b border-line bg-panel px-2 py-1 md:sticky md:top-0 md:h-dvh md:w-36 md:flex-col md:items-stretch md:border-r md:border-b-0 md:py-3">
      <NavLink to="/crawls" className="px-1 py-1 text-title font-semibold md:mb-3 md:px-2">
        Nephila
      </NavLink>
      <nav aria-label="Main" className="flex md:flex-col md:gap-1">
        {NOUNS.map(({ to, text }) => (
          <NavLink
            key={to}
            to={to}
            className={({ isActive }) =>
              `rounded px-1.5 py-1.5 md:px-2 ${isActive ? "bg-accent-ground font-medium text-accent" : "text-dim hover:bg-hover hover:text-text"}`
            }
          >
            {text}
          </NavLink>
        ))}
      </nav>
      <div className="ml-auto flex gap-1 md:mt-auto md:ml-0 md:flex-col md:items-stretch">
        <RailButton onClick={() => setTheme(other)}>{other === "dark" ? "Dark" : "Light"}</RailButton>
        <RailButton onClick={onHelp}>Keys</RailButton>
        <a href="/docs" target="_blank" rel="noreferrer" title="what the API answers" className={RAIL_ITEM}>
          API
        </a>
      </div>
    </header>
  );
}

function RailButton({ onClick, children }: { onClick: () => void; children: string }) {
  return (
    <button type="button" onClick={onClick} className={RAIL_ITEM}>
      {children}
    </button>
  );
}

/** What failed, since when, and what we do about it. */
function Lost({ since }: { since: number }) {
  const now = useNow();
  return (
    <p role="status" className="border-b border-warn bg-warn-ground px-4 py-1.5 text-warn">
      Reconnecting: the server has not answered for {duration(Math.max(now - since, 0))}. What is shown is as it was; it
      goes on by itself.
    </p>
  );
}
