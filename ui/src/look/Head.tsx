export interface Column {
  name: string;
  number?: boolean; // its cells are to the right
  width?: string; // classes
  title?: string; // what the name means, on hover
  hidden?: boolean; // for screen readers only: what the cells hold needs no name
}

function classOf({ number, width }: Column): string | undefined {
  return [width, number && "text-right"].filter(Boolean).join(" ") || undefined;
}

/** The head of a `.grid-table`. */
export function Head({ columns }: { columns: readonly Column[] }) {
  return (
    <thead>
      <tr>
        {columns.map((column) => (
          <th key={column.name} scope="col" title={column.title} className={classOf(column)}>
            {column.hidden ? <span className="sr-only">{column.name}</span> : column.name}
          </th>
        ))}
      </tr>
    </thead>
  );
}
