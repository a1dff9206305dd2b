export async function runWays() { return { rows: [], columns: [] }; }
