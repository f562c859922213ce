CREATE TABLE [_llm_migrations] ([name] TEXT PRIMARY KEY, [applied_at] TEXT);
CREATE TABLE [conversations] ([id] TEXT PRIMARY KEY, [name] TEXT, [model] TEXT);
CREATE TABLE [responses] ([id] TEXT PRIMARY KEY, [model] TEXT, [prompt] TEXT, [system] TEXT, [prompt_json] TEXT, [options_json] TEXT, [response] TEXT, [response_json] TEXT, [conversation_id] TEXT REFERENCES [conversations]([id]), [duration_ms] INTEGER, [datetime_utc] TEXT);
INSERT INTO [conversations] ([id], [name], [model]) VALUES ('c1', 'A talk', 'gpt-4o-mini');
INSERT INTO [responses] ([id], [model], [prompt], [response], [conversation_id], [datetime_utc]) VALUES ('01a', 'ada', 'Hi', 'Ho', 'c1', '2023-08-01T00:00:00');
