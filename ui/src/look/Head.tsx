import type { Ordering } from "./ordering";

export interface Column {
  name: string;
  number?: boolean; // its cells are to the right
  width?: string; // classes
  title?: string; // what the name means, on hover
  hidden?: boolean; // for screen readers only: what the cells hold needs no name
  plain?: boolean; // its cells need no name where rows are a few lines
  sort?: string; // what the list is sorted by for this column
  unsorted?: string; // why it cannot be sorted by this column
}

function classOf({ number, width }: Column): string | undefined {
  return [width, number && "text-right"].filter(Boolean).join(" ") || undefined;
}

interface Props {
  columns: readonly Column[];
  ordering?: Ordering;
}

/** The head of a `Grid`. With an ordering each name is a button, also where it can only say why it does nothing. */
export function Head({ columns, ordering }: Props) {
  return (
    <thead>
      <tr>
        {columns.map((column) => (
          <th
            key={column.name}
            scope="col"
            title={ordering && !column.hidden ? undefined : column.title}
            data-label={column.plain || column.hidden ? undefined : column.name}
            aria-sort={column.sort ? ordering?.towards(column.sort) : undefined}
            className={classOf(column)}
          >
            {column.hidden ? (
              <span className="sr-only">{column.name}</span>
            ) : ordering ? (
              <Sorter column={column} ordering={ordering} />
            ) : (
              column.name
            )}
          </th>
        ))}
      </tr>
    </thead>
  );
}

function Sorter({ column, ordering }: { column: Column; ordering: Ordering }) {
  const { name, sort, title } = column;
  const why = sort ? ordering.refuses(sort) : (column.unsorted ?? "this list has no such order");
  if (!sort || why) {
    return (
      <button type="button" aria-disabled="true" title={`not sorted by this: ${why}`} className="cursor-not-allowed">
        {name}
      </button>
    );
  }
  return (
    <button type="button" title={title} className="hover:text-text" onClick={() => ordering.choose(sort)}>
      {name} <Arrow towards={ordering.towards(sort)} />
    </button>
  );
}

function Arrow({ towards }: { towards: "ascending" | "descending" | undefined }) {
  return (
    <svg aria-hidden="true" viewBox="0 0 8 10" className="inline-block w-2 fill-none stroke-current">
      {towards !== "descending" && <path d="M1 4l3-3 3 3" />}
      {towards !== "ascending" && <path d="M1 6l3 3 3-3" />}
    </svg>
  );
}
