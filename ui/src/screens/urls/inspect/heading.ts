/** The id of the inspector's heading: where the focus goes when the keyboard opens it. */
export const HEADING = "inspector-heading";
