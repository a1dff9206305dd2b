export const markdown = () => "";
