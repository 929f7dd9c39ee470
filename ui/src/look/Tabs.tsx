import { NavLink } from "react-router";

interface Tab {
  to: string;
  text: string;
  end?: boolean;
}

export function Tabs({ label, tabs }: { label: string; tabs: readonly Tab[] }) {
  return (
    <nav aria-label={label} className="flex gap-1 overflow-x-auto border-b border-line px-4">
      {tabs.map(({ to, text, end = false }) => (
        <NavLink
          key={to}
          to={to}
          end={end}
          className={({ isActive }) =>
            `-mb-px border-b-2 px-3 py-2 whitespace-nowrap ${isActive ? "border-accent font-medium text-text" : "border-transparent text-dim hover:text-text"}`
          }
        >
          {text}
        </NavLink>
      ))}
    </nav>
  );
}
