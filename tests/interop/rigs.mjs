export async function runRigs() { return { rows: [], columns: [] }; }
